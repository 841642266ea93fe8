"""The PodDisruptionBudget: a drained machine takes no more nodes away than a rollout may."""

from __future__ import annotations

from partisan_operator.children import naming
from partisan_operator.children.child import Child, child
from partisan_operator.models import PartisanCluster


def build(cluster: PartisanCluster) -> Child:
    """Return the PodDisruptionBudget of a cluster."""
    body = {
        "spec": {
            "maxUnavailable": cluster.spec.rollout.max_unavailable,
            "selector": {"matchLabels": naming.selector_labels(cluster.name)},
            # A pod that is not ready serves nobody: it must not keep a machine from draining.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
    return child(cluster, "policy/v1", "PodDisruptionBudget", cluster.name, body)
