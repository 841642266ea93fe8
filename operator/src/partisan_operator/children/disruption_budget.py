"""The PodDisruptionBudget: a drain removes no more pods at a time than a rollout."""

from partisan_operator.children import naming
from partisan_operator.children.child import Child, child
from partisan_operator.models import PartisanCluster


def build(cluster: PartisanCluster) -> Child:
    """Return the PodDisruptionBudget of a cluster."""
    body = {
        "spec": {
            "maxUnavailable": cluster.spec.rollout.max_unavailable,
            "selector": {"matchLabels": naming.selector_labels(cluster.name)},
            # A pod that is not ready must not block a drain.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
    return child(cluster, "policy/v1", "PodDisruptionBudget", cluster.name, body)
