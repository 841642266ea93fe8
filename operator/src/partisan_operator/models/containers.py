"""Containers that users add to the pods, as in a pod's spec.

Their security context can only be within the Pod Security Standard `restricted`.

Over 300 lines: one declaration for each type of the Kubernetes API.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, one_of, rules
from partisan_operator.models.names import (
    ContainerImage,
    ReferencedKey,
    ReferencedName,
    part_name,
    pattern,
)
from partisan_operator.models.quantities import Quantity
from partisan_operator.models.scheduling import ImagePullPolicy
from partisan_operator.models.volumes import PodField, VolumeMounts

OWN_CONTAINER = "node"
"""The name of the node's container."""

ContainerName = Annotated[
    str,
    part_name(
        Rule(
            f"self != '{OWN_CONTAINER}'",
            f"must not be {OWN_CONTAINER}, the name of the node's container: choose another name",
        )
    ),
]
"""The name of a user's container."""

Words = Annotated[tuple[Annotated[str, Field(max_length=4096)], ...], Field(max_length=64)]
"""A command line."""

Port = Annotated[int, Field(ge=1, le=65_535)]


class ReferencedData(Resource):
    """One key of a Secret or a ConfigMap."""

    name: ReferencedName
    """The name of the object."""

    key: ReferencedKey
    """The key."""

    optional: bool | None = None
    """Whether the container starts without it."""


class ContainerVariableSource(Resource):
    """Where the value of a variable comes from. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=one_of(
            ("configMapKeyRef", "fieldRef", "secretKeyRef"),
            "valueFrom needs exactly one of configMapKeyRef, fieldRef and secretKeyRef",
        )
    )

    config_map_key_ref: ReferencedData | None = None
    """A key of a ConfigMap."""

    field_ref: PodField | None = None
    """A field of the pod."""

    secret_key_ref: ReferencedData | None = None
    """A key of a Secret."""


class ContainerVariable(Resource):
    """An environment variable: a value, or where it comes from."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "!has(self.value) || !has(self.valueFrom)",
                "a variable may have only one of value and valueFrom: remove one",
            )
        )
    )

    name: Annotated[str, pattern("[-._a-zA-Z][-._a-zA-Z0-9]*", most=128)]
    """The variable's name."""

    value: Annotated[str, Field(max_length=4096)] | None = None
    """The value, if it is not secret."""

    value_from: ContainerVariableSource | None = None
    """Where the value comes from."""


class ObjectReference(Resource):
    """A Secret or a ConfigMap."""

    name: ReferencedName
    """The name of the object."""

    optional: bool | None = None
    """Whether the container starts without it."""


class ContainerVariablesSource(Resource):
    """A Secret or ConfigMap, each of whose keys becomes a variable. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=one_of(
            ("configMapRef", "secretRef"),
            "envFrom needs exactly one of configMapRef and secretRef in each entry",
        )
    )

    prefix: Annotated[str, pattern("[-._a-zA-Z][-._a-zA-Z0-9]*", most=64)] | None = None
    """Prefix of each variable's name."""

    config_map_ref: ObjectReference | None = None
    """The ConfigMap."""

    secret_ref: ObjectReference | None = None
    """The Secret."""


class ContainerResources(Resource):
    """Compute resources of a container. Kubernetes checks them when the pods' template changes."""

    requests: Annotated[dict[str, Quantity], Field(max_length=8)] | None = None
    """Resources that the scheduler reserves; decimals are quoted: "0.1"."""

    limits: Annotated[dict[str, Quantity], Field(max_length=8)] | None = None
    """Most resources that the container may use; decimals are quoted."""


def _capabilities(rule: Rule) -> Any:
    """Return the field of a list of capabilities."""
    return Field(max_length=8, json_schema_extra=rules(rule))


_Capability = Annotated[str, Field(max_length=64)]


class Capabilities(Resource):
    """Capabilities of the container's processes."""

    add: (
        Annotated[
            tuple[_Capability, ...],
            _capabilities(
                Rule(
                    "self.all(entry, entry == 'NET_BIND_SERVICE')",
                    "may hold NET_BIND_SERVICE alone, because the pods meet the Pod Security"
                    " Standard restricted: remove the others",
                )
            ),
        ]
        | None
    ) = None
    """Capabilities that are added: NET_BIND_SERVICE alone is permitted."""

    drop: (
        Annotated[
            tuple[_Capability, ...],
            _capabilities(
                Rule(
                    "'ALL' in self",
                    "must hold ALL, because the pods meet the Pod Security Standard"
                    " restricted: add it, or leave drop out",
                )
            ),
        ]
        | None
    ) = None
    """Capabilities that are dropped: ALL, also where it is absent."""


class SeccompProfile(Resource):
    """The system calls that the container's processes may make."""

    type: Literal["RuntimeDefault", "Localhost"]
    """RuntimeDefault, or Localhost for a profile on the Kubernetes node."""

    localhost_profile: Annotated[str, Field(max_length=253)] | None = None
    """The profile's path, with type Localhost."""


def _only(value: str) -> dict[str, Any]:
    """Return the schema extension of a flag with one permitted value."""
    return rules(
        Rule(
            f"self == {value}",
            f"must be {value}, because the pods meet the Pod Security Standard restricted: set it"
            " to that, or leave it out",
        )
    )


class ContainerSecurity(Resource):
    """Security context of a container, within the Pod Security Standard `restricted`."""

    allow_privilege_escalation: Annotated[bool, Field(json_schema_extra=_only("false"))] | None = (
        None
    )
    """Always false."""

    capabilities: Capabilities | None = None
    """Capabilities of the container's processes: all are dropped."""

    privileged: Annotated[bool, Field(json_schema_extra=_only("false"))] | None = None
    """Always false."""

    read_only_root_filesystem: bool | None = None
    """Whether the container cannot write to its own file system; absent means true."""

    run_as_non_root: Annotated[bool, Field(json_schema_extra=_only("true"))] | None = None
    """Always true."""

    run_as_user: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    """User of the container's processes; absent means 65532. Never 0, which is root."""

    run_as_group: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    """Group of the container's processes; absent means 65532."""

    seccomp_profile: SeccompProfile | None = None
    """The system calls that the processes may make; absent means RuntimeDefault."""


class HttpCheck(Resource):
    """A request over HTTP, which succeeds with a status from 200 to 399."""

    path: Annotated[str, Field(max_length=1024)] | None = None
    """The path."""

    port: Port
    """The port's number."""

    scheme: Literal["HTTP", "HTTPS"] | None = None
    """The scheme; absent means HTTP."""


class PortCheck(Resource):
    """A connection, which succeeds when it is accepted."""

    port: Port
    """The port's number."""


class CommandCheck(Resource):
    """A command in the container, which succeeds with exit status 0."""

    command: Words
    """The command and its arguments, without a shell."""


class GrpcCheck(Resource):
    """A request to the gRPC health service."""

    port: Port
    """The port's number."""

    service: Annotated[str, Field(max_length=253)] | None = None
    """The name of the service."""


class Probe(Resource):
    """How the kubelet checks a container. One kind of check is set."""

    model_config = ConfigDict(
        json_schema_extra=one_of(
            ("exec", "grpc", "httpGet", "tcpSocket"),
            "a probe needs exactly one of exec, grpc, httpGet and tcpSocket",
        )
    )

    run: CommandCheck | None = Field(default=None, alias="exec")
    """A command in the container."""

    grpc: GrpcCheck | None = None
    """A request to the gRPC health service."""

    http_get: HttpCheck | None = None
    """A request over HTTP."""

    tcp_socket: PortCheck | None = None
    """A connection."""

    initial_delay_seconds: Annotated[int, Field(ge=0, le=3600)] | None = None
    """Seconds before the first check."""

    period_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    """Seconds between checks."""

    timeout_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    """Seconds after which a check has failed."""

    success_threshold: Annotated[int, Field(ge=1, le=100)] | None = None
    """Successes in a row after which the container counts as well."""

    failure_threshold: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Failures in a row after which the container counts as failed."""


class InitContainer(Resource):
    """A container that runs to its end before the sidecars and the node start."""

    name: ContainerName
    """The name, unique among all containers."""

    image: ContainerImage
    """The image. `spec.imagePullSecrets` serve for it too."""

    image_pull_policy: ImagePullPolicy | None = None
    """When the kubelet pulls the image: Always, IfNotPresent or Never."""

    command: Words | None = None
    """The program and its arguments; absent means the image's entry point."""

    args: Words | None = None
    """Arguments of the entry point."""

    working_dir: Annotated[str, Field(max_length=1024)] | None = None
    """The working directory; absent means the image's."""

    env: Annotated[
        tuple[ContainerVariable, ...], Field(max_length=32, json_schema_extra=keyed_by("name"))
    ] = ()
    """Environment variables; names are unique."""

    env_from: Annotated[tuple[ContainerVariablesSource, ...], Field(max_length=8)] = ()
    """Secrets and ConfigMaps, each of whose keys becomes an environment variable."""

    resources: ContainerResources | None = None
    """Compute resources."""

    security_context: ContainerSecurity = ContainerSecurity()
    """Security context, within the Pod Security Standard `restricted`."""

    volume_mounts: VolumeMounts = ()
    """Where the container mounts volumes of `spec.pods.volumes`."""


class Sidecar(InitContainer):
    """A container that starts before the node and ends after it."""

    startup_probe: Probe | None = None
    """Whether it has started. The node starts after that."""

    readiness_probe: Probe | None = None
    """Whether it is ready. A pod is ready when its node and all sidecars are."""

    liveness_probe: Probe | None = None
    """Whether it works. It is restarted otherwise; the node keeps running."""
