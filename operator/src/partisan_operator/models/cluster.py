"""`PartisanCluster`: the custom resource as one value."""

from dataclasses import dataclass
from typing import Any

from partisan_operator.models.spec import PartisanClusterSpec
from partisan_operator.models.status import PartisanClusterStatus

GROUP = "partisan.dev"
VERSION = "v1alpha1"
"""The version that is stored, and that the operator and the plugin use: the CRD of the previous
release serves no other, so that an upgrade may begin with either, and be undone."""

VERSIONS = (VERSION, "v1beta1")
"""The versions that users may write and read; they have the same schema."""

PLURAL = "partisanclusters"
KIND = "PartisanCluster"
API_VERSION = f"{GROUP}/{VERSION}"
API_VERSIONS = tuple(f"{GROUP}/{version}" for version in VERSIONS)
PREFERRED = API_VERSIONS[-1]
"""The one that kubectl uses if none is named; `kubectl events --for` selects Events by it."""


@dataclass(frozen=True)
class PartisanCluster:
    """One cluster as read from the API server."""

    namespace: str
    name: str
    uid: str
    generation: int
    created_at: str
    """`metadata.creationTimestamp`, RFC 3339."""

    spec: PartisanClusterSpec
    status: PartisanClusterStatus

    deleting: bool = False
    """Whether the cluster is being deleted: the garbage collector then removes the children."""

    @classmethod
    def from_wire(cls, manifest: dict[str, Any]) -> "PartisanCluster":
        """Read a cluster from its JSON form.

        Raises `pydantic.ValidationError` for a spec that the models do not know, which
        happens only with a CRD of another version. A status that cannot be read counts as
        absent and is computed anew.
        """
        metadata = manifest["metadata"]
        try:
            status = PartisanClusterStatus.model_validate(manifest.get("status") or {})
        except ValueError:
            status = PartisanClusterStatus()
        return cls(
            namespace=metadata["namespace"],
            name=metadata["name"],
            uid=metadata["uid"],
            generation=metadata["generation"],
            created_at=metadata["creationTimestamp"],
            spec=PartisanClusterSpec.model_validate(manifest.get("spec") or {}),
            status=status,
            deleting="deletionTimestamp" in metadata,
        )

    def owner_reference(self) -> dict[str, Any]:
        """Return the reference by which a child names this cluster as its controller."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
