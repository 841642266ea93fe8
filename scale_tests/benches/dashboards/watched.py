"""A cluster, its dashboards and alerts as a Prometheus sees them, and faults from outside."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from charts.tools.dashboards.files import Panel, panels
from scale_tests.benches.dashboards.kinds import STEP
from scale_tests.benches.dashboards.pictures import Range, numbers
from scale_tests.cluster.crowding import crowded
from scale_tests.cluster.kube import ApiError, Json, core
from scale_tests.cluster.monitoring.prometheus import Prometheus
from scale_tests.cluster.subject import Subject, kill_pod, manifest
from scale_tests.cluster.wait import wait_for

MOST_SERIES = 24
"""The most lines, or rows of a heatmap, that a panel may have and still be read."""

PENDING_SECONDS = 300.0
"""Seconds for which an alert may be pending: the chart's wait for minutes."""

CHAIN_NODES = 3
"""Nodes of the chain: without the one in the middle, the two others are isolated."""


def labels_of(subject: Subject) -> str:
    """The selector of a cluster's series."""
    return f'namespace="{subject.namespace}", partisan_cluster="{subject.name}"'


def wait_operator_scraped(prometheus: Prometheus) -> None:
    """Waits until the operator that acts has been scraped. Raises StalledError, ApiError.

    A counter that has grown before it is first scraped has not grown for Prometheus.
    """
    wait_for(
        "the operator that acts to be scraped",
        lambda: prometheus.value("max(partisan_operator_leader)"),
        lambda value: value == 1,
    )


def wait_scraped(prometheus: Prometheus, subject: Subject, expression: str, wanted: float) -> None:
    """Waits until the scraped series make an expression so large.

    The cluster's labels stand where the expression has `%s`. Raises StalledError, ApiError.
    """
    wait_for(
        f"{subject.name}: {expression} of {wanted:g}",
        lambda: prometheus.value(expression % labels_of(subject)),
        lambda value: value == wanted,
    )


def wait_run_scraped(prometheus: Prometheus, subject: Subject, nodes: int) -> None:
    """Waits until the end of a cluster's run has been scraped. Raises StalledError, ApiError."""
    wait_scraped(prometheus, subject, "sum(up{%s})", nodes)
    wait_scraped(prometheus, subject, "sum(adcounter_converged{%s})", nodes)
    convergence = "min(partisan_operator_cluster_convergence_seconds{%s}) > bool 0"
    wait_scraped(prometheus, subject, convergence, 1)


def wait_firing(prometheus: Prometheus, subject: Subject, alert: str) -> None:
    """Waits until an alert fires for a cluster. Raises StalledError, ApiError."""
    labels = f'alertname="{alert}", {labels_of(subject)}'
    wait_for(
        f"{alert} to fire",
        lambda: [item["metric"]["alertstate"] for item in prometheus.query(f"ALERTS{{{labels}}}")],
        lambda states: "firing" in states,
        stall_seconds=PENDING_SECONDS,
    )


def wait_quiet(prometheus: Prometheus, subject: Subject, *alerts: str) -> None:
    """Waits until these alerts are neither firing nor pending. Raises StalledError, ApiError."""
    labels = f'alertname=~"{"|".join(alerts)}", {labels_of(subject)}'
    wait_for(
        f"the end of {', '.join(alerts)}",
        lambda: prometheus.query(f"ALERTS{{{labels}}}"),
        lambda left: not left,
    )


def answered(
    dashboards: Iterable[dict[str, Any]], shown: Callable[[Panel], Range]
) -> dict[str, int]:
    """How many series with numbers each query gives, by panel and expression. Raises ApiError."""
    return {
        f"{panel.dashboard} / {panel.title}: {query.expression}": sum(
            bool(numbers([series])) for series in shown(panel).ask(query)
        )
        for dashboard in dashboards
        for panel in panels(dashboard)
        for query in panel.queries
    }


def evaluated_rules(prometheus: Prometheus) -> list[dict[str, Any]]:
    """All rules, once each of them has been evaluated. Raises ApiError, StalledError."""
    return wait_for(
        "evaluation of all rules",
        prometheus.rules,
        lambda rules: all(rule["health"] != "unknown" for rule in rules),
    )


def firing(prometheus: Prometheus, labels: str) -> set[str]:
    """The names of the alerts that fire now, of those with these labels. Raises ApiError."""
    series = prometheus.query(f'ALERTS{{alertstate="firing", {labels}}}')
    return {item["metric"]["alertname"] for item in series}


def history(
    prometheus: Prometheus, alert: str, labels: str, *, start: float, end: float
) -> list[tuple[float, str]]:
    """When an alert became `pending`, `firing` and `inactive` again.

    Times are in seconds since 1970, and `STEP` seconds long in doubt. Raises ApiError.
    """
    selected = f'ALERTS{{alertname="{alert}", {labels}}}'
    seen = sorted(
        (float(when), str(series["metric"]["alertstate"]))
        for series in prometheus.query_range(selected, start=start, end=end, step=STEP)
        for when, _ in series["values"]
    )
    changes: list[tuple[float, str]] = []
    last = -math.inf
    for when, state in seen:
        if changes and when - last > 1.5 * STEP:
            changes.append((last + STEP, "inactive"))
        if not changes or changes[-1][1] != state:
            changes.append((when, state))
        last = when
    over = bool(seen) and not prometheus.query(selected)
    return [*changes, (last + STEP, "inactive")] if over else changes


def chain(name: str) -> Json:
    """A cluster whose overlay one node can partition: its links are fixed and not redundant."""
    edges = [[ordinal, ordinal + 1] for ordinal in range(CHAIN_NODES - 1)]
    overlay = {"kind": "Static", "static": {"edges": edges}}
    return manifest(name, CHAIN_NODES, overlay=overlay, workload=None)


@contextmanager
def kept_away(subject: Subject, pod: str) -> Iterator[None]:
    """Kills a pod, and prevents its replacement until the end. Raises ApiError, StalledError."""
    with crowded(subject):
        kill_pod(subject, pod)
        yield


def connect_unauthenticated(subject: Subject, pod: str) -> None:
    """Sends HTTP to the port of nodes, as no peer does. Raises ConnectionError: it was accepted."""
    try:
        subject.cluster.text(core(subject.namespace, "pods", f"{pod}:7946/proxy/"))
    except ApiError:
        return
    raise ConnectionError(f"{pod} has answered an unauthenticated peer")
