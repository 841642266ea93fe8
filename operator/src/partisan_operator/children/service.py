"""The headless Service of a shard: DNS names for its pods, before they are ready.

`publishNotReadyAddresses` because a node becomes ready by joining, and joins by name.
"""

from partisan_operator.children import naming
from partisan_operator.children.child import Child, child
from partisan_operator.children.naming import Shard
from partisan_operator.models import PartisanCluster


def build(cluster: PartisanCluster, shard: Shard) -> Child:
    """Return the Service of one shard."""
    body = {
        "labels": {naming.SHARD_LABEL: str(shard.index)},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": naming.selector_labels(cluster.name)
            | {naming.SHARD_LABEL: str(shard.index)},
            "ports": [
                # By number: the name of a pod's port depends on its scheme.
                {"name": name, "port": port, "protocol": "TCP", "targetPort": port}
                for name, port in (("partisan", naming.PARTISAN_PORT), ("http", naming.HTTP_PORT))
            ],
        },
    }
    return child(cluster, "v1", "Service", shard.name, body)
