"""`spec.pods`: environment, labels and annotations that users add to the pods.

Over 300 lines: the fields and their CEL rules, which have to match, stay together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, rules
from partisan_operator.models.names import DataKey, LabelValue, ObjectName, distinct, qualified_keys
from partisan_operator.models.scheduling import LocalObjectReference

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

OWN_VARIABLES = (
    "POD_NAME",
    "POD_NAMESPACE",
    "POD_IP",
    "K8S_NODE_NAME",
    "K8S_ZONE",
    "ERL_FLAGS",
)
"""Variables that the operator sets. The node reads further ones, all named PARTISAN_..."""

RESERVED_VARIABLES = ("PARTISAN_", "ERL_", "RELX_", "LD_", "KUBERNETES_")
"""Prefixes of variables that configure the node, the emulator, the start script or the loader, or
that Kubernetes sets."""

SYSTEM_VARIABLES = (
    "BINDIR",
    "EMU",
    "ESCRIPT_NAME",
    "GLIBC_TUNABLES",
    "HOME",
    "MALLOC_CONF",
    "PATH",
    "PROGNAME",
    "ROOTDIR",
    "VMARGS_PATH",
)
"""Variables by which the start script finds the emulator, or that change how programs load."""


def _listed(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{name}'" for name in names) + "]"


_VARIABLE = "^[A-Za-z_][A-Za-z0-9_.-]*$"


_FOREIGN_KEYS = Rule(
    f"self.all(key, !key.startsWith('{OWN_PREFIX}')"
    f" && !(key in {_listed(OWN_LABELS + CONTROLLER_LABELS)}))",
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

_SWITCHED_OFF = f"(key in {_listed(INJECTORS)} && self[key] in {_listed(OFF)})"

_HARMLESS_LABELS = ("app.kubernetes.io/", "topology.kubernetes.io/")

_NO_INJECTION = Rule(
    f"self.all(key, {_SWITCHED_OFF}"
    f" || {_listed(_HARMLESS_LABELS)}.exists(known, key.startsWith(known))"
    f" || !{_listed(_PLATFORM)}.exists(domain,"
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
    f"self.all(key, {_listed(ALLOWED_ANNOTATIONS).replace(' ', '')}.exists(allowed,"
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


class KeySelector(Resource):
    """One key of a Secret or a ConfigMap in the namespace of the cluster."""

    name: ObjectName
    """Name of the object. A node starts once it exists and has the key."""

    key: DataKey
    """The key."""


class VariableSource(Resource):
    """Where the value of a variable comes from. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.secretKeyRef) != has(self.configMapKeyRef)",
                "valueFrom needs exactly one of secretKeyRef and configMapKeyRef",
            )
        )
    )

    secret_key_ref: KeySelector | None = None
    """A key of a Secret."""

    config_map_key_ref: KeySelector | None = None
    """A key of a ConfigMap."""


class Variable(Resource):
    """An environment variable of the node: a value, or where it comes from."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.value) != has(self.valueFrom)",
                "a variable needs exactly one of value and valueFrom",
            )
        )
    )

    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=128,
            json_schema_extra=rules(
                Rule(
                    f"self.matches('{_VARIABLE}')",
                    "must start with a letter or an underscore and hold only letters, digits,"
                    " underscores, dashes and dots",
                ),
                Rule(
                    f"!(self in {_listed(OWN_VARIABLES + SYSTEM_VARIABLES)})"
                    f" && !{_listed(RESERVED_VARIABLES)}.exists(start, self.startsWith(start))",
                    "must not be one that configures the node, the emulator or the loader"
                    f" ({', '.join(OWN_VARIABLES + SYSTEM_VARIABLES)}, or one that starts with"
                    f" {', '.join(RESERVED_VARIABLES)}): choose another name",
                ),
            ),
        ),
    ]
    """The variable's name. Those that configure the node itself are rejected."""

    value: (
        Annotated[
            str,
            Field(
                max_length=4096,
                json_schema_extra=rules(
                    Rule(
                        "!self.contains('\\u0000')",
                        "must hold no NUL character, which no environment can contain: remove it",
                    )
                ),
            ),
        ]
        | None
    ) = None
    """The value, if it is not secret."""

    value_from: VariableSource | None = None
    """Where the value comes from. It is read when a node starts: a change of the Secret or
    ConfigMap takes effect with the next restart."""


class VariablesSource(Resource):
    """A Secret or ConfigMap, each of whose keys becomes a variable. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.secretRef) != has(self.configMapRef)",
                "envFrom needs exactly one of secretRef and configMapRef in each entry",
            )
        )
    )

    prefix: (
        Annotated[
            str,
            Field(
                max_length=64,
                json_schema_extra=rules(
                    Rule(
                        f"self == '' || self.matches('{_VARIABLE}')",
                        "must start with a letter or an underscore and hold only letters, digits,"
                        " underscores, dashes and dots",
                    ),
                    Rule(
                        f"!{_listed(RESERVED_VARIABLES)}.exists(start, self.startsWith(start)"
                        " || self + '_' == start)",
                        "must not start like a variable that configures the node, the emulator"
                        f" or the loader ({', '.join(RESERVED_VARIABLES)}): choose another prefix",
                    ),
                ),
            ),
        ]
        | None
    ) = None
    """Prefix of each variable's name."""

    secret_ref: LocalObjectReference | None = None
    """The Secret."""

    config_map_ref: LocalObjectReference | None = None
    """The ConfigMap."""


class Pods(Resource):
    """Environment, labels and annotations added to the pods. A change replaces the pods."""

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
