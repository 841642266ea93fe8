"""The PodMonitor, by which a Prometheus of the Prometheus operator finds the nodes of one cluster.

With TLS it has an endpoint for both names of a pod's port: while pods of an earlier operator are
replaced, both exist.
"""

from partisan_operator.children import naming, node_http, tls_files
from partisan_operator.children.child import Child, Manifest, child
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
            "podMetricsEndpoints": [_endpoint(cluster, node_http.PLAIN_PORT), *_over_tls(cluster)],
        },
    }
    return child(cluster, f"{GROUP}/{VERSION}", KIND, f"{cluster.name}-nodes", body)


def _endpoint(cluster: PartisanCluster, port: str) -> Manifest:
    return {
        "port": port,
        "path": "/metrics",
        "interval": _prometheus_duration(cluster.spec.metrics.interval),
        # The cluster's name on every series, as on those of the operator.
        "relabelings": [
            {
                "sourceLabels": ["__meta_kubernetes_pod_label_partisan_dev_cluster"],
                "targetLabel": "partisan_cluster",
            }
        ],
    }


def _over_tls(cluster: PartisanCluster) -> list[Manifest]:
    secret = tls_files.secret_name(cluster)
    if secret is None:
        return []
    verification = {
        "ca": {"secret": {"name": secret, "key": tls_files.AUTHORITIES}},
        "serverName": tls_files.server_name(cluster),
    }
    endpoint = _endpoint(cluster, node_http.TLS_PORT)
    return [endpoint | {"scheme": "https", "tlsConfig": verification}]


def _prometheus_duration(duration: str) -> str:
    """Return a duration in Prometheus' notation, which has no fractions.

    >>> _prometheus_duration("1.5s"), _prometheus_duration("1m30s")
    ('1500ms', '90s')
    """
    total = milliseconds(duration)
    return f"{total}ms" if total % 1000 else f"{total // 1000}s"
