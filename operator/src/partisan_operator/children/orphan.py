"""Children without an owner, which a cluster of the same name adopts.

`kubectl delete pcl NAME --cascade=orphan` removes the owner references of the children, and those
that are restored from a backup should have none. A child that names a deleted cluster as its
controller is none of them: the garbage collector is about to delete it with all others of that
cluster, and to adopt a part of them would mix two clusters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partisan_operator.children import naming
from partisan_operator.children.child import Child, contains, last_applied

_IMMUTABLE = ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates")
"""Fields of StatefulSets that cannot change: an orphan in which they differ cannot be adopted."""


@dataclass(frozen=True)
class Orphan:
    """A live child that nothing controls."""

    kind: str
    name: str
    uid: str
    owners: tuple[Mapping[str, Any], ...]
    """Its owner references, of which none is a controller."""


def orphan_of(kind: str, live: Mapping[str, Any], cluster: str) -> Orphan | None:
    """Return a live object as an orphan of clusters of that name; None if it is none.

    The operator's labels and annotation distinguish it from objects of other clients.
    """
    metadata = live["metadata"]
    owners = tuple(metadata.get("ownerReferences") or ())
    labels = metadata.get("labels") or {}
    ours = contains(labels, naming.labels(cluster)) and last_applied(live) != ""
    going = "deletionTimestamp" in metadata
    if not ours or going or any(owner.get("controller") for owner in owners):
        return None
    return Orphan(kind, metadata["name"], metadata["uid"], owners)


def differing_field(wanted: Child, live: Mapping[str, Any]) -> str:
    """Return the path of an immutable field that differs from the wanted; empty if none does."""
    if wanted.kind != "StatefulSet":
        return ""
    there, spec = live["spec"], wanted.manifest["spec"]
    for name in _IMMUTABLE:
        # A field that one of them lacks has a value of its own in the other.
        if (name in there) != (name in spec) or not contains(there.get(name), spec.get(name)):
            return f"spec.{name}"
    return ""
