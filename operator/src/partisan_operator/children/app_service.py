"""The Service of the applications in the pods: one address for the ports of `spec.pods.ports`.

It selects the pods of all shards, and sends to those that are ready. It has no shard's label, by
which the operator finds the addresses of nodes.
"""

from collections.abc import Mapping
from typing import Any

from partisan_operator.children import naming
from partisan_operator.children.child import Child, Manifest, child
from partisan_operator.models import PartisanCluster
from partisan_operator.models.pods import Pods
from partisan_operator.models.ports import OWN_PORT_NAMES


def name_of(cluster: str) -> str:
    """Return the name of the Service."""
    return f"{cluster}-app"


def build(cluster: PartisanCluster) -> tuple[Child, ...]:
    """Return the Service of a cluster whose pods have ports; none of others."""
    ports = cluster.spec.pods.ports
    if not ports:
        return ()
    body = {
        "spec": {
            "selector": naming.selector_labels(cluster.name),
            "ports": [
                {
                    "name": port.name,
                    "port": port.port,
                    "protocol": port.protocol,
                    "targetPort": port.port,
                }
                for port in ports
            ],
        },
    }
    return (child(cluster, "v1", "Service", name_of(cluster.name), body),)


def container_ports(pods: Pods) -> list[Manifest]:
    """Return the ports as those of the node's container: all containers of a pod share them."""
    return [
        {"name": port.name, "containerPort": port.port, "protocol": port.protocol}
        for port in pods.ports
    ]


def policy_ports(pods: Pods) -> list[Manifest]:
    """Return the ports as those of a NetworkPolicy."""
    return [{"port": port.port, "protocol": port.protocol} for port in pods.ports]


def from_template(node: Mapping[str, Any]) -> Manifest:
    """Return the fields of `spec.pods` that made the ports of the node's container."""
    return {
        "ports": [
            {
                "name": port["name"],
                "port": port["containerPort"],
                "protocol": port.get("protocol", "TCP"),
            }
            for port in node.get("ports") or ()
            if port["name"] not in OWN_PORT_NAMES
        ]
    }
