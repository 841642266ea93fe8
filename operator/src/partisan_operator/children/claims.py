"""The claims of the pods, and the volume with a node's state: from `spec.pods` to the children.

Kubernetes creates the claims with the pods, and deletes them as the StatefulSet says: the operator
needs no right to them.
"""

from partisan_operator.children.child import Manifest
from partisan_operator.models.pods import Pods

STATE_PATH = "/var/lib/partisan"
_MEMORY = "state"
_DISK = {"name": "PARTISAN_STATE", "value": "disk"}
"""Makes the node flush what it records: a crash of the machine must not bring back older counts."""


def of_stateful_set(pods: Pods) -> Manifest:
    """Return the members of a StatefulSet's spec; none without claims.

    Claims are in the order of their names: that of `spec.pods` may change, as a map's, and that of
    a StatefulSet may not.
    """
    if not pods.volume_claim_templates:
        return {}
    return {
        "volumeClaimTemplates": [
            {"metadata": {"name": claim.name}, "spec": claim.spec.to_wire()}
            for claim in sorted(pods.volume_claim_templates, key=lambda claim: claim.name)
        ],
        "persistentVolumeClaimRetentionPolicy": (
            pods.persistent_volume_claim_retention_policy.to_wire()
        ),
    }


def outlive_shard(pods: Pods) -> bool:
    """Whether claims of removed nodes stay, but would go with their StatefulSet."""
    policy = pods.persistent_volume_claim_retention_policy
    kept = policy.when_scaled == "Retain" and policy.when_deleted == "Delete"
    return bool(pods.volume_claim_templates) and kept


def state_volumes(pods: Pods) -> list[Manifest]:
    """Return the volume in memory of a cluster whose nodes keep their state in no claim."""
    if pods.state_claim:
        return []
    return [{"name": _MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}]


def state_mount(pods: Pods) -> Manifest:
    """Return the mount of the volume with the node's state."""
    return {"name": pods.state_claim or _MEMORY, "mountPath": STATE_PATH}


def state_variables(pods: Pods) -> list[Manifest]:
    """Return the node's variable for state that outlives the pod."""
    return [dict(_DISK)] if pods.state_claim else []
