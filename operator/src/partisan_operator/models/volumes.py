"""Volumes of the pods, and where containers mount them, as in a pod's spec.

Only the kinds that the Pod Security Standard `restricted` permits exist here. A field of Kubernetes
that the schema lacks, such as `hostPath`, is refused by its name.

Over 300 lines: one declaration for each type of the Kubernetes API.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, listed, one_of
from partisan_operator.models.names import (
    ObjectName,
    OptionalObjectName,
    PartName,
    ReferencedKey,
    ReferencedName,
    part_name,
    pattern,
    text,
)
from partisan_operator.models.quantities import Quantity

OWN_VOLUMES = ("bearer", "config", "secret", "state", "tls")
"""Names of the operator's volumes."""

OWN_VOLUMES_PREFIX = "partisan-"
"""Prefix of names that are reserved for the operator's volumes."""

OWN_PATHS = (
    "/dev/termination-log",
    "/etc/partisan",
    "/opt/partisan",
    "/proc",
    "/sys",
    "/var/lib/partisan",
)
"""Paths of the node's container that the runtime or the container's own runtime needs."""

KINDS = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
"""The members of a volume that the Pod Security Standard `restricted` permits."""

_PART = r"\.?[-\w@+=,][-\w.@+=,]*"
"""One part of a path: neither `.` nor `..`."""


RelativePath = Annotated[str, pattern(f"{_PART}(/{_PART})*")]
"""A path within a volume."""


def is_own(name: str) -> bool:
    """Whether a volume is the operator's, by its name."""
    return name in OWN_VOLUMES or name.startswith(OWN_VOLUMES_PREFIX)


def _path(*also: Rule) -> Any:
    """Return the field of a mount's path with further rules."""
    return text(
        f"(/{_PART})+",
        "must be an absolute path such as /srv/data: letters, digits and -._@+=, between slashes,"
        " without . and .. and without a slash at the end",
        most=253,
        also=also,
    )


MountPath = Annotated[str, _path()]
"""Where a container mounts something."""

NodeMountPath = Annotated[
    str,
    _path(
        Rule(
            f"!{listed(OWN_PATHS)}.exists(own, self == own || self.startsWith(own + '/')"
            " || own.startsWith(self + '/'))",
            "must be neither in nor above a path of the runtime"
            f" ({', '.join(OWN_PATHS)}): choose another one, such as /srv/data",
        )
    ),
]
"""Where the node's container mounts something."""

FileMode = Annotated[int, Field(ge=0, le=0o777)]

VolumeName = Annotated[
    str,
    part_name(
        Rule(
            f"!(self in {listed(OWN_VOLUMES)}) && !self.startsWith('{OWN_VOLUMES_PREFIX}')",
            f"must not be the name of a volume of the operator ({', '.join(OWN_VOLUMES)}, or one"
            f" that starts with {OWN_VOLUMES_PREFIX}): choose another name",
        )
    ),
]
"""The name of a user's volume."""


class KeyPath(Resource):
    """One key as a file."""

    key: ReferencedKey
    """The key."""

    path: RelativePath
    """The path of its file, in the volume."""

    mode: FileMode | None = None
    """The file's permissions; absent means the volume's defaultMode."""


Items = Annotated[tuple[KeyPath, ...], Field(max_length=64, json_schema_extra=keyed_by("path"))]
"""Keys as files."""


class ConfigMapFiles(Resource):
    """The keys of a ConfigMap as files."""

    name: ObjectName
    """The name of the ConfigMap."""

    items: Items | None = None
    """The keys that become files; absent means all, each under its own name."""

    default_mode: FileMode | None = None
    """Permissions of the files; absent means 0644."""

    optional: bool | None = None
    """Whether pods start while the ConfigMap or a key is missing."""


class SecretFiles(Resource):
    """The keys of a Secret as files."""

    secret_name: ObjectName
    """The name of the Secret."""

    items: Items | None = None
    """The keys that become files; absent means all, each under its own name."""

    default_mode: FileMode | None = None
    """Permissions of the files; absent means 0644."""

    optional: bool | None = None
    """Whether pods start while the Secret or a key is missing."""


class ScratchSpace(Resource):
    """An empty directory, which is deleted with the pod."""

    medium: Literal["", "Memory"] | None = None
    """Memory for a file system in memory, which counts as memory of the containers that write to
    it; absent means the disk of the Kubernetes node."""

    size_limit: Quantity | None = None
    """Size above which Kubernetes evicts the pod; with medium Memory, the size of the file
    system."""


class ClaimReference(Resource):
    """An existing PersistentVolumeClaim, which all pods share."""

    claim_name: ObjectName
    """The name of the claim. Pods on several Kubernetes nodes need one with the access mode
    ReadOnlyMany or ReadWriteMany."""

    read_only: bool | None = None
    """Whether it is mounted for reading only."""


class StorageSize(Resource):
    """The size of a claim."""

    storage: Quantity
    """The size, such as 10Gi."""


class StorageRequest(Resource):
    """The size of a claim."""

    requests: StorageSize
    """The size of the volume."""


class ClaimSpec(Resource):
    """The volume that is claimed for one pod."""

    access_modes: Annotated[
        tuple[Literal["ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany"], ...],
        Field(min_length=1, max_length=4),
    ]
    """How the volume may be mounted: ReadWriteOnce for a pod's own."""

    storage_class_name: OptionalObjectName | None = None
    """The StorageClass; absent means the default one."""

    resources: StorageRequest
    """The size of the volume."""


class ClaimTemplate(Resource):
    """The claim that Kubernetes makes with each pod."""

    spec: ClaimSpec
    """The claim's spec."""


class EphemeralClaim(Resource):
    """A volume of its own for each pod, which is made and deleted with the pod."""

    volume_claim_template: ClaimTemplate
    """The claim that Kubernetes makes with each pod."""


class InlineDriver(Resource):
    """A volume that a CSI driver makes for each pod, for instance with secrets of a vault."""

    driver: ObjectName
    """The name of the driver."""

    read_only: bool | None = None
    """Whether it is mounted for reading only."""

    volume_attributes: (
        Annotated[dict[str, Annotated[str, Field(max_length=1024)]], Field(max_length=16)] | None
    ) = None
    """Parameters of the driver."""


class PodField(Resource):
    """A field of the pod."""

    field_path: Annotated[str, Field(min_length=1, max_length=317)]
    """The field, for instance metadata.labels."""


class PodFieldPath(Resource):
    """A field of the pod as a file."""

    path: RelativePath
    """The path of the file, in the volume."""

    field_ref: PodField
    """The field."""

    mode: FileMode | None = None
    """The file's permissions; absent means the volume's defaultMode."""


PodFields = Annotated[
    tuple[PodFieldPath, ...], Field(max_length=16, json_schema_extra=keyed_by("path"))
]


class DownwardFiles(Resource):
    """Fields of the pod as files."""

    items: PodFields
    """The fields."""

    default_mode: FileMode | None = None
    """Permissions of the files; absent means 0644."""


class ProjectedKeys(Resource):
    """Keys of a ConfigMap or a Secret as files of a projected volume."""

    name: ReferencedName
    """The name of the object."""

    items: Items | None = None
    """The keys that become files; absent means all, each under its own name."""

    optional: bool | None = None
    """Whether pods start while the object or a key is missing."""


class ProjectedFields(Resource):
    """Fields of the pod as files of a projected volume."""

    items: PodFields
    """The fields."""


class ProjectedToken(Resource):
    """A token of the pods' ServiceAccount as a file, which the kubelet renews."""

    path: RelativePath
    """The path of the file, in the volume."""

    audience: Annotated[str, Field(max_length=253)] | None = None
    """The service that the token is for; absent means the API server."""

    expiration_seconds: Annotated[int, Field(ge=600, le=86_400)] | None = None
    """Seconds that the token is valid; absent means an hour."""


class ProjectedSource(Resource):
    """One source of a projected volume. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=one_of(
            ("configMap", "downwardAPI", "secret", "serviceAccountToken"),
            "a source needs exactly one of configMap, downwardAPI, secret and serviceAccountToken",
        )
    )

    config_map: ProjectedKeys | None = None
    """Keys of a ConfigMap."""

    downward_api: ProjectedFields | None = Field(default=None, alias="downwardAPI")
    """Fields of the pod."""

    secret: ProjectedKeys | None = None
    """Keys of a Secret."""

    service_account_token: ProjectedToken | None = None
    """A token of the pods' ServiceAccount."""


class ProjectedFiles(Resource):
    """Several sources in one directory."""

    sources: Annotated[tuple[ProjectedSource, ...], Field(min_length=1, max_length=8)]
    """The sources."""

    default_mode: FileMode | None = None
    """Permissions of the files; absent means 0644."""


class Volume(Resource):
    """A volume of the pods. One member next to the name is set."""

    model_config = ConfigDict(
        json_schema_extra=one_of(
            KINDS,
            f"a volume needs exactly one of {', '.join(KINDS)}: the Pod Security Standard"
            " restricted permits no other kind, such as hostPath",
        )
    )

    name: VolumeName
    """The name, by which containers mount the volume."""

    config_map: ConfigMapFiles | None = None
    """The keys of a ConfigMap as files."""

    csi: InlineDriver | None = None
    """A volume that a CSI driver makes for each pod."""

    downward_api: DownwardFiles | None = Field(default=None, alias="downwardAPI")
    """Fields of the pod as files."""

    empty_dir: ScratchSpace | None = None
    """An empty directory, which is deleted with the pod."""

    ephemeral: EphemeralClaim | None = None
    """A volume of its own for each pod, which is made and deleted with the pod."""

    persistent_volume_claim: ClaimReference | None = None
    """An existing claim, which all pods share."""

    projected: ProjectedFiles | None = None
    """Several sources in one directory."""

    secret: SecretFiles | None = None
    """The keys of a Secret as files."""


class VolumeMount(Resource):
    """Where a container mounts a volume."""

    name: PartName
    """The name of an entry of `spec.pods.volumes` or `spec.pods.volumeClaimTemplates`."""

    mount_path: MountPath
    """The path in the container."""

    sub_path: RelativePath | None = None
    """The file or directory of the volume to mount; absent means the whole volume. A file that is
    mounted this way does not change while the pod runs."""

    read_only: bool | None = None
    """Whether it is mounted for reading only."""


VolumeMounts = Annotated[
    tuple[VolumeMount, ...], Field(max_length=16, json_schema_extra=keyed_by("mountPath"))
]
"""Mounts of a container that is not the node's."""


def mounts_have_volumes(container: str) -> str:
    """Return the CEL expression, over `spec.pods`, for a container mounting only its volumes.

    So no other container mounts the operator's volumes, which hold the cluster's secrets, nor the
    claim with the node's state, which has the console's socket.
    """
    return (
        f"!has({container}.volumeMounts) || {container}.volumeMounts.all(mount,"
        " (has(self.volumes) && self.volumes.exists(volume, volume.name == mount.name))"
        " || (has(self.volumeClaimTemplates)"
        " && self.volumeClaimTemplates.exists(claim, claim.name == mount.name)"
        " && !(has(self.stateClaim) && self.stateClaim == mount.name)))"
    )


class NodeMount(VolumeMount):
    """Where the node's container mounts a volume."""

    mount_path: NodeMountPath
    """The path in the container. Those of the runtime are refused."""


class ConfigFiles(Resource):
    """Files in the node's container, from a ConfigMap: a volume and its mount in one."""

    config_map: ObjectName
    """The name of the ConfigMap."""

    mount_path: NodeMountPath
    """The directory of the files. Those of the runtime are refused."""

    items: Items | None = None
    """The keys that become files; absent means all, each under its own name."""

    optional: bool | None = None
    """Whether pods start while the ConfigMap or a key is missing."""
