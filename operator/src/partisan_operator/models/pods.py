"""`spec.pods`: users' additions to the pods, and the labels and annotations that they may set.

Over 300 lines: most of it is the text of `kubectl explain`, next to the fields and rules.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, listed, rules
from partisan_operator.models.claims import ClaimRetention, VolumeClaims
from partisan_operator.models.containers import InitContainer, Sidecar
from partisan_operator.models.emulator import EmulatorArguments
from partisan_operator.models.names import LabelValue, OptionalObjectName, distinct, qualified_keys
from partisan_operator.models.override import PodOverride
from partisan_operator.models.pod_settings import (
    GRACE_SECONDS,
    LEAST_GRACE_SECONDS,
    DnsConfig,
    NodeProbes,
)
from partisan_operator.models.ports import PodPorts
from partisan_operator.models.variables import Variable, VariablesSource
from partisan_operator.models.volumes import ConfigFiles, NodeMount, Volume, mounts_have_volumes

OWN_PREFIX = "partisan.dev/"
"""Prefix of labels and annotations that only the operator sets."""

OWN_LABELS = (
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
)
"""Labels without that prefix that the operator sets."""

CONTROLLER_LABELS = ("controller-revision-hash", "pod-template-hash")
"""Labels that controllers of Kubernetes set and replace."""

_FOREIGN_KEYS = Rule(
    f"self.all(key, !key.startsWith('{OWN_PREFIX}')"
    f" && !(key in {listed(OWN_LABELS + CONTROLLER_LABELS)}))",
    f"holds a key that the operator or Kubernetes sets (those that start with {OWN_PREFIX},"
    " app.kubernetes.io/name, instance, part-of and managed-by, controller-revision-hash and"
    " pod-template-hash): use a key of your own domain",
)

_PLATFORM = (
    "istio.io",
    "linkerd.io",
    "kuma.io",
    "dapr.io",
    "hashicorp.com",
    "azure.workload.identity",
    "opentelemetry.io",
    "datadoghq.com",
    "cilium.io",
    "kubernetes.io",
    "k8s.io",
)
"""Domains of labels on which admission webhooks and network plugins act."""

OFF = ("disabled", "false")
"""Values by which an injector leaves a pod alone."""

INJECTORS = (
    "dapr.io/enabled",
    "kuma.io/sidecar-injection",
    "linkerd.io/inject",
    "sidecar.istio.io/inject",
    "vault.hashicorp.com/agent-inject",
)
"""Keys of labels or annotations that switch the injection of a sidecar on or off."""

_SWITCHED_OFF = f"(key in {listed(INJECTORS)} && self[key] in {listed(OFF)})"

_HARMLESS_LABELS = ("app.kubernetes.io/", "topology.kubernetes.io/")

_NO_INJECTION = Rule(
    f"self.all(key, {_SWITCHED_OFF}"
    f" || {listed(_HARMLESS_LABELS)}.exists(known, key.startsWith(known))"
    f" || !{listed(_PLATFORM)}.exists(domain,"
    " key.startsWith(domain + '/') || key.contains('.' + domain + '/')))",
    "holds a key by which the platform changes pods (a sidecar, an identity, a network): use a"
    " key of your own domain, and set the platform's keys on the namespace",
)

Labels = Annotated[
    dict[str, LabelValue],
    Field(
        max_length=32,
        json_schema_extra=rules(_FOREIGN_KEYS, qualified_keys("key"), _NO_INJECTION),
    ),
]
"""Labels in addition to the operator's."""

ALLOWED_ANNOTATIONS = (
    "checksum/*",
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
    "example.com/*",
    "example.org/*",
    "karpenter.sh/do-not-disrupt",
    "kubectl.kubernetes.io/default-container",
    "kubectl.kubernetes.io/default-logs-container",
    "kubectl.kubernetes.io/restartedAt",
    "prometheus.io/*",
)
"""Keys of annotations that change nothing about a pod's privileges, exactly or as `DOMAIN/*`. The
chart's value allowedPodAnnotations replaces the list, in the CRD and in the operator."""

_ALLOWED_KEYS = Rule(
    # Without spaces, so that YAML never folds the list: the chart replaces it as text.
    f"self.all(key, {listed(ALLOWED_ANNOTATIONS).replace(' ', '')}.exists(allowed,"
    " allowed == '*' || allowed == key || (allowed.endsWith('/*')"
    " && key.startsWith(allowed.substring(0, allowed.size() - 1))))"
    f" || {_SWITCHED_OFF})",
    "holds a key that is not allowed, because annotations can take a pod out of its security"
    " profile (AppArmor, seccomp, networks, sidecars): remove it, or have the administrator add"
    " it to the chart's value allowedPodAnnotations",
)

_MOST_ANNOTATED = 192 * 2**10

_ANNOTATED = Rule(
    f"self.map(key, key.size() + bytes(self[key]).size()).sum() <= {_MOST_ANNOTATED}",
    "holds more than 192 KiB, and Kubernetes accepts 256 KiB in all, with the operator's and"
    " its own: put long values into a ConfigMap",
)

Annotations = Annotated[
    dict[str, Annotated[str, Field(max_length=4096)]],
    Field(
        max_length=32,
        json_schema_extra=rules(_FOREIGN_KEYS, qualified_keys("key"), _ALLOWED_KEYS, _ANNOTATED),
    ),
]
"""Annotations in addition to the operator's."""


def refused_annotations(annotations: Mapping[str, str], allowed: Iterable[str]) -> list[str]:
    """Return the keys that are not allowed, by the same rule as the CRD's.

    >>> refused_annotations({"a.io/b": "", "c.io/d": ""}, ["a.io/*", "c.io/e"])
    ['c.io/d']
    """
    exact = frozenset(allowed)
    domains = tuple(entry[:-1] for entry in exact if entry.endswith("/*"))
    if "*" in exact:
        return []
    return [
        key
        for key, value in annotations.items()
        if key not in exact
        and not key.startswith(domains)
        and not (key in INJECTORS and value in OFF)
    ]


_MOUNTED = (
    "must name entries of spec.pods.volumes, or of spec.pods.volumeClaimTemplates except the"
    " stateClaim: add the volume, or correct the name"
)

_MOUNTS_HAVE_VOLUMES = Rule(
    mounts_have_volumes("self"), f"volumeMounts {_MOUNTED}", ".volumeMounts"
)

_VOLUMES_DIFFER = Rule(
    "!has(self.volumes) || !has(self.volumeClaimTemplates)"
    " || !self.volumeClaimTemplates.exists(claim,"
    " self.volumes.exists(volume, volume.name == claim.name))",
    "volumeClaimTemplates and volumes have the same name: change one",
    ".volumeClaimTemplates",
)

_STATE_HAS_CLAIM = Rule(
    "!has(self.stateClaim) || self.stateClaim == '' || (has(self.volumeClaimTemplates)"
    " && self.volumeClaimTemplates.exists(claim, claim.name == self.stateClaim))",
    "stateClaim must name one of volumeClaimTemplates: add the claim, or correct the name",
    ".stateClaim",
)

_ONE_MOUNT_PER_PATH = Rule(
    "!has(self.volumeMounts) || !has(self.configFiles) || !self.configFiles.exists(files,"
    " self.volumeMounts.exists(mount, mount.mountPath == files.mountPath))",
    "configFiles and volumeMounts have the same mountPath: change one",
    ".configFiles",
)


def _others_mount_volumes(containers: str) -> Rule:
    return Rule(
        f"!has(self.{containers}) || self.{containers}.all(container,"
        f" {mounts_have_volumes('container')})",
        f"volumeMounts of {containers} {_MOUNTED}",
        f".{containers}",
    )


_NAMES_DIFFER = Rule(
    "!has(self.sidecars) || !has(self.initContainers) || !self.sidecars.exists(sidecar,"
    " self.initContainers.exists(other, other.name == sidecar.name))",
    "sidecars and initContainers have the same name: change one",
    ".sidecars",
)


class Pods(Resource):
    """Additions to the pods. A change replaces the pods, a few at a time."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            _MOUNTS_HAVE_VOLUMES,
            _ONE_MOUNT_PER_PATH,
            _others_mount_volumes("initContainers"),
            _others_mount_volumes("sidecars"),
            _NAMES_DIFFER,
            _VOLUMES_DIFFER,
            _STATE_HAS_CLAIM,
        )
    )

    labels: Labels = Field(default_factory=dict)
    """Additional labels of the pods, for instance of a cost centre. Keys that the operator sets
    itself are rejected."""

    annotations: Annotations = Field(default_factory=dict)
    """Additional annotations of the pods. Keys that the operator sets itself are rejected."""

    env: Annotated[
        tuple[Variable, ...],
        Field(
            max_length=64,
            json_schema_extra=keyed_by("name"),
        ),
    ] = ()
    """Additional environment variables of the nodes; names are unique."""

    env_from: Annotated[
        tuple[VariablesSource, ...],
        Field(max_length=16, json_schema_extra=rules(distinct("source"))),
    ] = ()
    """Secrets and ConfigMaps, each of whose keys becomes an environment variable. The last one wins
    if several have the same key; `env` and the operator's own variables override all of them."""

    volumes: Annotated[
        tuple[Volume, ...], Field(max_length=16, json_schema_extra=keyed_by("name"))
    ] = ()
    """Volumes of the pods, of the kinds that the Pod Security Standard `restricted` permits."""

    volume_mounts: Annotated[
        tuple[NodeMount, ...], Field(max_length=16, json_schema_extra=keyed_by("mountPath"))
    ] = ()
    """Where the node's container mounts them."""

    volume_claim_templates: VolumeClaims = ()
    """Volumes of which each pod has its own, and which outlive it. They cannot change while the
    cluster exists."""

    state_claim: OptionalObjectName = ""
    """The entry of `volumeClaimTemplates` in which nodes keep their state: a new pod continues as
    the node that it replaces. Empty means memory, which ends with the pod. It cannot change while
    the cluster exists."""

    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()
    """Retention of the claims when the cluster is scaled down or deleted."""

    config_files: Annotated[
        tuple[ConfigFiles, ...], Field(max_length=8, json_schema_extra=keyed_by("mountPath"))
    ] = ()
    """ConfigMaps whose keys are files in the node's container. The files follow a change of the
    ConfigMap within a minute or two, without a restart."""

    init_containers: Annotated[
        tuple[InitContainer, ...], Field(max_length=8, json_schema_extra=keyed_by("name"))
    ] = ()
    """Containers that run to their ends, one after the other, before the sidecars and the node
    start."""

    sidecars: Annotated[
        tuple[Sidecar, ...], Field(max_length=8, json_schema_extra=keyed_by("name"))
    ] = ()
    """Containers that start before the node, in this order, and end after it."""

    ports: PodPorts = ()
    """Ports on which applications in the node or the sidecars listen. Service `NAME-app` has them,
    and the NetworkPolicy admits everyone to them."""

    service_account_name: OptionalObjectName = ""
    """ServiceAccount of the pods. Empty means `default`."""

    automount_service_account_token: bool = False
    """Mount the token of the ServiceAccount into all containers. The node does not need it."""

    termination_grace_period_seconds: Annotated[int, Field(ge=LEAST_GRACE_SECONDS, le=3600)] = (
        GRACE_SECONDS
    )
    """Seconds that a pod has to end, with its sidecars. A node hands over for up to 10 of them and
    leaves the overlay for up to 5."""

    runtime_class_name: OptionalObjectName = ""
    """RuntimeClass of the pods, for instance one with a sandbox. Empty means the default."""

    dns_config: DnsConfig = DnsConfig()
    """Name resolution, in addition to that of the Kubernetes cluster."""

    probes: NodeProbes = NodeProbes()
    """The timing of the nodes' probes."""

    emulator_arguments: EmulatorArguments = ()
    """Arguments of the Erlang emulator, after those of the image. Those that open Distributed
    Erlang or with which the node would not start are refused. An image of your own needs the entry
    point of the operator's."""

    override: PodOverride | None = None
    """Fields of the pods that the spec has no field for, merged last. The API server checks the
    result before anything is changed, and `restricted` applies to it."""
