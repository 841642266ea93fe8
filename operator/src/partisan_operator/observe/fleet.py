"""The clusters that follow the operator's default image, by their status."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partisan_operator.models import PartisanCluster
from partisan_operator.models.status import ConditionType, DefaultImageStatus, FleetRollout

FLEET_ANNOTATION = "partisan.dev/fleet-rollout"
"""On a PartisanCluster: its part in the rollout of a default image."""

IGNORED = "ignore"
"""Value of the annotation: the cluster neither halts the others nor takes a place before them."""


@dataclass(frozen=True)
class Member:
    """One cluster without `spec.image`."""

    namespace: str
    name: str
    image: str = ""
    """The default image in its pods' template; empty while its status does not have one."""

    rollout: FleetRollout = FleetRollout.CREATED
    degraded: str = ""
    """Reason of its condition `Degraded`; empty while that is not True."""

    paused: bool = False
    ignored: bool = False
    """Whether it has the annotation with that value."""

    @property
    def key(self) -> tuple[str, str]:
        """Its identity."""
        return self.namespace, self.name

    @property
    def rolling(self) -> bool:
        """Whether its rollout to `image` is not complete."""
        return self.rollout is FleetRollout.ROLLING

    @property
    def rolled(self) -> bool:
        """Whether a change of the default image led to `image`."""
        return self.rollout is not FleetRollout.CREATED


def member_of(cluster: PartisanCluster) -> Member:
    """Return a cluster as a member of the fleet."""
    status = cluster.status
    return _member(
        (cluster.namespace, cluster.name),
        status.default_image,
        status.degraded,
        paused=cluster.spec.paused,
    )


def read_member(manifest: Mapping[str, Any]) -> Member | None:
    """Read a member from the JSON form of its cluster; None for one that takes no part.

    Those are clusters with an image of their own, and ones that are being deleted.
    Only a few fields are read: the fleet may have thousands of clusters.
    """
    metadata, spec = manifest["metadata"], manifest.get("spec") or {}
    if spec.get("image") or metadata.get("deletionTimestamp"):
        return None
    status = manifest.get("status") or {}
    try:
        image = DefaultImageStatus.model_validate(status.get("defaultImage"))
    except ValueError:
        image = None  # none yet
    return _member(
        (metadata["namespace"], metadata["name"]),
        image,
        next(
            (
                str(entry.get("reason"))
                for entry in status.get("conditions") or ()
                if entry.get("type") == ConditionType.DEGRADED and entry.get("status") == "True"
            ),
            "",
        ),
        paused=bool(spec.get("paused")),
        ignored=(metadata.get("annotations") or {}).get(FLEET_ANNOTATION) == IGNORED,
    )


def _member(
    key: tuple[str, str],
    image: DefaultImageStatus | None,
    degraded: str,
    *,
    paused: bool,
    ignored: bool = False,
) -> Member:
    namespace, name = key
    if image is None:
        return Member(namespace, name, degraded=degraded, paused=paused, ignored=ignored)
    return Member(namespace, name, image.image, image.rollout, degraded, paused, ignored)
