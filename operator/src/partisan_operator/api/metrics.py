"""The operator's own metrics: `partisan_operator_*`, and `process_*` of its process."""

import asyncio

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from partisan_operator.api.cluster_metrics import ClusterMetrics

_SHORT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LONG = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 2400)

registry = CollectorRegistry()
ProcessCollector(registry=registry)

reconcile_seconds = Histogram(
    "partisan_operator_reconcile_seconds",
    "Time of one reconcile of one cluster: observe, act, write the status.",
    ["outcome"],
    buckets=_SHORT,
    registry=registry,
)
queue_seconds = Histogram(
    "partisan_operator_queue_seconds",
    "Time from when a cluster was due to be reconciled until it started.",
    buckets=_SHORT,
    registry=registry,
)
api_calls = Counter(
    "partisan_operator_api_calls_total",
    "Requests to the API server, without watches.",
    ["verb", "kind", "code"],
    registry=registry,
)
scrape_seconds = Histogram(
    "partisan_operator_scrape_seconds",
    "Time to scrape all nodes of one cluster.",
    buckets=_SHORT,
    registry=registry,
)
scrape_failures = Counter(
    "partisan_operator_scrape_failures_total",
    "Scrapes of nodes without a usable answer.",
    registry=registry,
)
event_loop_lag_seconds = Histogram(
    "partisan_operator_event_loop_lag_seconds",
    "Delay of a sleeping task: the time in which the operator was unresponsive.",
    buckets=_SHORT,
    registry=registry,
)
apply_to_ready_seconds = Histogram(
    "partisan_operator_apply_to_ready_seconds",
    "Time from a spec to all its pods ready.",
    buckets=_LONG,
    registry=registry,
)
apply_to_joined_seconds = Histogram(
    "partisan_operator_apply_to_joined_seconds",
    "Time from a spec to all its nodes joined in one overlay.",
    buckets=_LONG,
    registry=registry,
)
clusters = Gauge(
    "partisan_operator_clusters",
    "Clusters that the operator reconciles.",
    registry=registry,
)
leader = Gauge(
    "partisan_operator_leader",
    "1 while this operator holds the Lease and acts, 0 while it stands by.",
    ["lease"],
    registry=registry,
)
lease_refused = Gauge(
    "partisan_operator_lease_refused",
    "1 while no operator holds the Lease and the API server refuses it to this one, as by a quota.",
    ["lease"],
    registry=registry,
)
console_viewers = Gauge(
    "partisan_operator_console_viewers",
    "Streams of the live page that this operator serves.",
    registry=registry,
)
console_bytes = Counter(
    "partisan_operator_console_bytes_total",
    "Bytes that viewers of the live page received.",
    registry=registry,
)
console_snapshots = Counter(
    "partisan_operator_console_snapshots_total",
    "Snapshots that viewers received, by reason: start, leader (another one than before), resumed"
    " (too much has changed since), behind (the viewer is slow).",
    ["reason"],
    registry=registry,
)
cluster_metrics = ClusterMetrics()
registry.register(cluster_metrics)

_LAG_PERIOD = 1.0


async def measure_lag() -> None:
    """Measure the event loop's lag until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        asleep = loop.time()
        await asyncio.sleep(_LAG_PERIOD)
        event_loop_lag_seconds.observe(max(0.0, loop.time() - asleep - _LAG_PERIOD))
