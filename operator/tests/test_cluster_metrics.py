"""Metrics of the operator for each cluster."""

from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from partisan_operator.api import metrics as operator_metrics
from partisan_operator.api.cluster_metrics import ClusterMetrics
from partisan_operator.models import PartisanClusterStatus
from partisan_operator.models.overlay import OverlayKind
from partisan_operator.models.status import ClusterCaStatus, OverlayStatus, Timings
from world import cluster

PREFIX = "partisan_operator_cluster_"
LABELS = {"namespace": "default", "partisan_cluster": "ads"}
OBSERVED = datetime(2026, 1, 1, tzinfo=UTC)
GRAPH = OverlayStatus(kind=OverlayKind.CYCLON, components=2, isolated=1, mean_degree=1.5, links=3)


def exported(metrics: ClusterMetrics, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(metrics)
    return registry.get_sample_value(PREFIX + name, LABELS | labels)


def test_the_graph_the_sizes_and_the_times_of_a_cluster() -> None:
    metrics = ClusterMetrics()
    timings = Timings(
        applied_at="2026-01-01T00:00:00Z",
        joined_at="2026-01-01T00:00:09Z",
        started_at="2026-01-01T00:00:10Z",
        converged_at="2026-01-01T00:00:30Z",
    )
    status = PartisanClusterStatus(ready=3, joined=2, overlay=GRAPH, timings=timings)
    metrics.publish(cluster({"replicas": 4, "paused": True}), status, OBSERVED)
    assert {
        name: exported(metrics, name)
        for name in (
            "nodes_wanted",
            "nodes_ready",
            "nodes_joined",
            "overlay_components",
            "overlay_isolated_nodes",
            "formation_seconds",
            "convergence_seconds",
            "paused",
            "observed_timestamp_seconds",
        )
    } == {
        "nodes_wanted": 4,
        "nodes_ready": 3,
        "nodes_joined": 2,
        "overlay_components": 2,
        "overlay_isolated_nodes": 1,
        "formation_seconds": 9,
        "convergence_seconds": 20,
        "paused": 1,
        "observed_timestamp_seconds": OBSERVED.timestamp(),
    }


def test_unknown_figures_are_not_exported() -> None:
    metrics = ClusterMetrics()
    metrics.publish(cluster({"replicas": 3}), PartisanClusterStatus(), OBSERVED)
    assert exported(metrics, "overlay_components") is None
    assert exported(metrics, "convergence_seconds") is None
    assert exported(metrics, "nodes_joined") == 0


def test_the_overlay_is_only_the_requested_one() -> None:
    metrics = ClusterMetrics()
    metrics.publish(cluster({"replicas": 3}), PartisanClusterStatus(), OBSERVED)
    assert exported(metrics, "overlay_info", overlay="HyParView") == 1
    metrics.publish(
        cluster({"replicas": 3, "overlay": {"kind": "XBot"}}), PartisanClusterStatus(), OBSERVED
    )
    assert exported(metrics, "overlay_info", overlay="HyParView") is None
    assert exported(metrics, "overlay_info", overlay="XBot") == 1


def test_a_cluster_that_is_gone_is_not_exported() -> None:
    metrics = ClusterMetrics()
    metrics.publish(cluster({"replicas": 3}), PartisanClusterStatus(), OBSERVED)
    metrics.forget("default", "ads")
    metrics.forget("default", "never-seen")
    assert exported(metrics, "nodes_wanted") is None


def test_the_operator_exports_the_resource_use_of_its_process() -> None:
    for name in ("process_cpu_seconds_total", "process_resident_memory_bytes"):
        assert (operator_metrics.registry.get_sample_value(name) or 0) > 0


def test_when_the_clusters_own_certificate_is_due() -> None:
    metrics = ClusterMetrics()
    ca = ClusterCaStatus(
        certificate_expires_at="2026-04-01T00:00:00Z", authority_expires_at="2027-01-01T00:00:00Z"
    )
    spec = {"security": {"tls": {"clusterCa": {"renewBefore": "24h"}}}}
    metrics.publish(cluster(spec), PartisanClusterStatus(cluster_ca=ca), OBSERVED)
    due, end = datetime(2026, 3, 31, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    assert exported(metrics, "certificate_renewal_timestamp_seconds") == due.timestamp()
    assert exported(metrics, "authority_expiration_timestamp_seconds") == end.timestamp()
    metrics.publish(cluster(), PartisanClusterStatus(), OBSERVED)
    assert exported(metrics, "certificate_renewal_timestamp_seconds") is None
