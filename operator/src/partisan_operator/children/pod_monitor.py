"""The PodMonitor: how a Prometheus that an operator sets up finds the nodes of one cluster."""

from __future__ import annotations

from partisan_operator.children import naming
from partisan_operator.children.child import Child, child
from partisan_operator.models import PartisanCluster
from partisan_operator.models.quantities import milliseconds

KIND = "PodMonitor"
GROUP, VERSION = "monitoring.coreos.com", "v1"


def build(cluster: PartisanCluster) -> Child:
    """Return the PodMonitor of a cluster."""
    metrics = cluster.spec.metrics
    body = {
        "labels": dict(metrics.labels),
        "spec": {
            "selector": {"matchLabels": naming.selector_labels(cluster.name)},
            "podMetricsEndpoints": [
                {
                    "port": "http",
                    "path": "/metrics",
                    "interval": _prometheus_duration(metrics.interval),
                    # The cluster's name on every series, as the operator's own series have it.
                    "relabelings": [
                        {
                            "sourceLabels": ["__meta_kubernetes_pod_label_partisan_dev_cluster"],
                            "targetLabel": "partisan_cluster",
                        }
                    ],
                }
            ],
        },
    }
    return child(cluster, f"{GROUP}/{VERSION}", KIND, f"{cluster.name}-nodes", body)


def _prometheus_duration(duration: str) -> str:
    """Return a duration as Prometheus reads it: without fractions.

    >>> _prometheus_duration("1.5s"), _prometheus_duration("1m30s")
    ('1500ms', '90s')
    """
    total = milliseconds(duration)
    return f"{total}ms" if total % 1000 else f"{total // 1000}s"
