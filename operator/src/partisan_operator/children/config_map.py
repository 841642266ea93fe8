"""The ConfigMap with `node.config`, which is applied before any pod exists."""

from partisan_operator.children.child import Child, child
from partisan_operator.children.node_config import render_config
from partisan_operator.models import PartisanCluster

FILE = "node.config"


def name_of(cluster: str) -> str:
    """Return the name of a cluster's ConfigMap."""
    return f"{cluster}-config"


def build(cluster: PartisanCluster) -> Child:
    """Return the ConfigMap of a cluster."""
    body = {"data": {FILE: render_config(cluster)}}
    return child(cluster, "v1", "ConfigMap", name_of(cluster.name), body)
