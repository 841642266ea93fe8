"""Claims of the pods: a volume for each pod, which outlives the pod."""

from typing import Annotated, Literal

from pydantic import Field

from partisan_operator.models.base import Resource, Rule, given, keyed_by
from partisan_operator.models.volumes import ClaimSpec, VolumeName

Retention = Literal["Retain", "Delete"]


class VolumeClaim(Resource):
    """A volume of its own for each pod. The next pod of the same name gets the same volume."""

    name: VolumeName
    """The name, by which containers mount the volume. The claim of pod NAME-3 is CLAIM-NAME-3."""

    spec: ClaimSpec
    """The claim's spec."""


VolumeClaims = Annotated[
    tuple[VolumeClaim, ...], Field(max_length=4, json_schema_extra=keyed_by("name"))
]


class ClaimRetention(Resource):
    """Retention of the claims of pods that are gone for good."""

    when_deleted: Retention = "Retain"
    """Whether the claims stay when the cluster is deleted. A later cluster of the same name gets
    them."""

    when_scaled: Retention = "Retain"
    """Whether the claims of removed nodes stay after a scale-down. The nodes of a later scale-up
    get them."""


def _immutable(field: str, absent: str, message: str) -> Rule:
    def found(value: str) -> str:
        return f"({given(value, f'pods.{field}')} ? {value}.pods.{field} : {absent})"

    return Rule(f"{found('self')} == {found('oldSelf')}", message, f".pods.{field}")


FIXED = (
    _immutable(
        "volumeClaimTemplates",
        "[]",
        "pods.volumeClaimTemplates cannot change while the cluster exists, because Kubernetes keeps"
        " the claims of a StatefulSet as they are: delete and recreate the cluster, or edit the"
        " PersistentVolumeClaims to enlarge them",
    ),
    _immutable(
        "stateClaim",
        "''",
        "pods.stateClaim cannot change while the cluster exists, because nodes would return to"
        " counts older than those that others have seen: delete and recreate the cluster",
    ),
)
"""Rules over the spec: claims are those of the cluster's creation."""
