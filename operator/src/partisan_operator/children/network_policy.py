"""The NetworkPolicy: overlay connections come from the cluster's own pods only.

The HTTP port stays open: no selector covers the addresses of kubelets, Prometheus and the operator,
reports are not secret, and orders need the bearer. The ports of applications stay open too: their
clients are unknown.
"""

from partisan_operator.children import app_service, naming
from partisan_operator.children.child import Child, child
from partisan_operator.models import PartisanCluster


def build(cluster: PartisanCluster) -> Child:
    """Return the NetworkPolicy of a cluster."""
    own_pods = {"matchLabels": naming.selector_labels(cluster.name)}
    body = {
        "spec": {
            "podSelector": own_pods,
            "policyTypes": ["Ingress"],
            "ingress": [
                {
                    "from": [{"podSelector": own_pods}],
                    "ports": [{"port": naming.PARTISAN_PORT, "protocol": "TCP"}],
                },
                {
                    "ports": [
                        {"port": naming.HTTP_PORT, "protocol": "TCP"},
                        *app_service.policy_ports(cluster.spec.pods),
                    ]
                },
            ],
        },
    }
    return child(cluster, "networking.k8s.io/v1", "NetworkPolicy", cluster.name, body)
