"""The metrics of each cluster, `partisan_operator_cluster_*`.

Only figures that no single node can report: the number of wanted nodes, the overlay's graph,
durations. Prometheus adds the labels `namespace` and `partisan_cluster` to the series of the nodes
too, so that queries can join both. The chart's alerts and dashboards use them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.models.clock import parse, seconds_between
from partisan_operator.models.overlay import OverlayKind
from partisan_operator.models.quantities import milliseconds

LABELS = ("namespace", "partisan_cluster")
PREFIX = "partisan_operator_cluster_"
HELP = {
    "nodes_wanted": "Nodes that the spec asks for.",
    "nodes_ready": "Pods that are ready.",
    "nodes_joined": "Nodes that report that they have joined the overlay.",
    "overlay_components": "Connected components of the overlay's graph; the target is 1.",
    "overlay_isolated_nodes": "Nodes without any link.",
    "formation_seconds": "From a generation of the spec to all its nodes joined in one overlay.",
    "convergence_seconds": "From the start of the run to the same counter on every node.",
    "authority_expiration_timestamp_seconds": "Expiry of the cluster's own authority.",
    "certificate_renewal_timestamp_seconds": "Renewal time of that authority's certificate.",
    "paused": "1 while the operator observes and changes nothing.",
    "observed_timestamp_seconds": "End of the last successful observation of the cluster.",
}


@dataclass(frozen=True)
class Snapshot:
    """The figures of one cluster after one reconcile."""

    overlay: OverlayKind
    """The overlay that the spec asks for: alerts depend on it."""

    values: dict[str, float]
    """By the name of the metric without its prefix. Unknown figures are absent."""


def snapshot(cluster: PartisanCluster, status: PartisanClusterStatus, observed: float) -> Snapshot:
    """Return the figures of an observed cluster; `observed` in seconds since 1970."""
    timings, graph, ca = status.timings, status.overlay, status.cluster_ca
    values: dict[str, float | None] = {
        "nodes_wanted": cluster.spec.replicas,
        "nodes_ready": status.ready,
        "nodes_joined": status.joined,
        "overlay_components": graph.components if graph else None,
        "overlay_isolated_nodes": graph.isolated if graph else None,
        "formation_seconds": seconds_between(timings.applied_at, timings.joined_at),
        "convergence_seconds": seconds_between(timings.started_at, timings.converged_at),
        "authority_expiration_timestamp_seconds": _unix(ca.authority_expires_at) if ca else None,
        "certificate_renewal_timestamp_seconds": _renewal(cluster, status),
        "paused": cluster.spec.paused,
        "observed_timestamp_seconds": observed,
    }
    known = {name: float(value) for name, value in values.items() if value is not None}
    return Snapshot(cluster.spec.overlay.kind, known)


def _renewal(cluster: PartisanCluster, status: PartisanClusterStatus) -> float | None:
    """Return when the certificate of the cluster's own authority is due for renewal."""
    tls, ca = cluster.spec.security.tls, status.cluster_ca
    end = None if ca is None else _unix(ca.certificate_expires_at)
    if tls is None or tls.cluster_ca is None or end is None:
        return None
    return end - milliseconds(tls.cluster_ca.renew_before) / 1000


def _unix(time: str | None) -> float | None:
    return None if time is None else parse(time).timestamp()


class ClusterMetrics(Collector):
    """Exports the last snapshot of each cluster."""

    def __init__(self) -> None:
        """Begin without a cluster."""
        self._snapshots: dict[tuple[str, str], Snapshot] = {}

    def publish(
        self, cluster: PartisanCluster, status: PartisanClusterStatus, observed: datetime
    ) -> None:
        """Replace the snapshot of a cluster."""
        current = snapshot(cluster, status, observed.timestamp())
        self._snapshots[cluster.namespace, cluster.name] = current

    def forget(self, namespace: str, name: str) -> None:
        """Remove the snapshot of a cluster that is deleted."""
        self._snapshots.pop((namespace, name), None)

    def collect(self) -> Iterator[Metric]:
        """Return all families, for the exporter."""
        for name, text in HELP.items():
            family = GaugeMetricFamily(PREFIX + name, text, labels=LABELS)
            for key, entry in self._snapshots.items():
                if name in entry.values:
                    family.add_metric(key, entry.values[name])
            yield family
        info = GaugeMetricFamily(
            PREFIX + "overlay_info",
            "1, with the overlay that the spec asks for.",
            labels=(*LABELS, "overlay"),
        )
        for key, entry in self._snapshots.items():
            info.add_metric((*key, entry.overlay), 1.0)
        yield info
