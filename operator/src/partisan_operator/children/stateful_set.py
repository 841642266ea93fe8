"""The StatefulSet of a shard: stable names for its pods, all started at once.

`Parallel` because nodes need no order to join; `OnDelete` because the operator rolls pods itself,
in batches gated on the overlay, which the StatefulSet controller does not know.
"""

from partisan_operator.children import claims, naming
from partisan_operator.children.child import Child, Manifest, child
from partisan_operator.children.naming import Shard
from partisan_operator.children.pod import pod_template
from partisan_operator.models import PartisanCluster


def build(
    cluster: PartisanCluster, shard: Shard, default_image: str, *, bearer: bool = True
) -> Child:
    """Return the StatefulSet of one shard.

    `default_image` runs where the spec names none; `bearer` is whether it supports the bearer.
    """
    shard_labels = {naming.SHARD_LABEL: str(shard.index)}
    body: Manifest = {
        "labels": dict(shard_labels),
        "spec": {
            "serviceName": shard.name,
            "replicas": shard.replicas,
            "ordinals": {"start": shard.start},
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": naming.selector_labels(cluster.name) | shard_labels},
            "template": pod_template(cluster, shard_labels, default_image, bearer=bearer),
            **claims.of_stateful_set(cluster.spec.pods),
        },
    }
    return child(cluster, "apps/v1", "StatefulSet", shard.name, body)
