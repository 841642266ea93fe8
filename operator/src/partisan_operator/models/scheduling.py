"""Placement and resources of the pods."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, rules
from partisan_operator.models.names import (
    NAME,
    SUBDOMAIN,
    LabelKey,
    LabelValue,
    ObjectName,
    distinct,
    matches,
    qualified_keys,
)
from partisan_operator.models.quantities import IntOrPercent, Quantity, approximately, is_bytes

DEFAULT_REQUESTS = {"cpu": "10m", "memory": "48Mi"}
"""Requests of a node for which the spec has none."""


class ImagePullPolicy(StrEnum):
    """When the kubelet pulls the image."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class LocalObjectReference(Resource):
    """Reference to an object in the namespace of the cluster."""

    name: ObjectName
    """The name of the object."""


ImagePullSecrets = Annotated[
    tuple[LocalObjectReference, ...], Field(max_length=8, json_schema_extra=keyed_by("name"))
]
"""Secrets with the credentials of a registry."""

NodeLabels = Annotated[
    dict[str, LabelValue],
    Field(max_length=32, json_schema_extra=rules(qualified_keys("key"))),
]
"""Labels of Kubernetes nodes."""

_BYTES = ("memory", "ephemeral-storage")
_EXTENDED = rf"{SUBDOMAIN}/{NAME}"


def _amount(of: str, key: str) -> str:
    return f"quantity(string(self.{of}['{key}']))"


def _if_given(of: str, key: str, rule: str) -> str:
    return f"!has(self.{of}) || !('{key}' in self.{of}) || ({rule})"


def _least(of: str, key: str, least: str, why: str) -> Rule:
    return Rule(
        _if_given(of, key, f"{_amount(of, key)}.compareTo(quantity('{least}')) >= 0"),
        f"{of}.{key} must be at least {least}: {why}",
        f".{of}",
    )


def _most(of: str, key: str, most: str) -> Rule:
    return Rule(
        _if_given(of, key, f"{_amount(of, key)}.compareTo(quantity('{most}')) <= 0"),
        f"{of}.{key} must be at most {most}, which is more than a node can use: lower it",
        f".{of}",
    )


def _amounts(of: str) -> tuple[Rule, ...]:
    """Return the rules for each of requests and limits alone."""
    return (
        Rule(
            f"!has(self.{of}) || self.{of}.all(key, key in ['cpu', {_quoted(_BYTES)}]"
            f" || (key.size() <= 308 && {matches('key', _EXTENDED)}"
            " && key.matches('^[^/]{1,244}/[^/]{1,63}$') && !key.startsWith('requests.')"
            " && !key.startsWith('kubernetes.io/') && !key.contains('.kubernetes.io/')))",
            f"{of} may name cpu, memory, ephemeral-storage and extended resources such as"
            " example.com/device: remove the others, which a node does not use",
            f".{of}",
        ),
        Rule(
            _if_given(
                of,
                "cpu",
                rf"string(self.{of}['cpu']).matches(r'^\d+(m|[.]\d{{1,3}})?$')",
            ),
            f"{of}.cpu must be whole thousandths of a CPU that are not negative, such as 250m, 0.5"
            " or 2",
            f".{of}",
        ),
        *(
            Rule(
                _if_given(of, key, is_bytes(f"self.{of}['{key}']")),
                f"{of}.{key} must be a number of bytes that is not negative, such as 64Mi",
                f".{of}",
            )
            for key in _BYTES
        ),
        Rule(
            f"!has(self.{of}) || self.{of}.all(key, !key.contains('/') || (type(self.{of}[key])"
            f" in [int] ? self.{of}[key] >= 0 && self.{of}[key] <= 999999"
            f" : self.{of}[key].size() <= 6 && self.{of}[key].matches('^[0-9]+$')))",
            f"{of} of an extended resource must be a whole number from 0 to 999999",
            f".{of}",
        ),
        _most(of, "cpu", "256"),
        *(_most(of, key, "1Ti") for key in _BYTES),
    )


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _default_fits(key: str) -> Rule:
    default = DEFAULT_REQUESTS[key]
    return Rule(
        f"has(self.requests) || !has(self.limits) || !('{key}' in self.limits)"
        f" || {_amount('limits', key)}.compareTo(quantity('{default}')) >= 0",
        f"limits.{key} must be at least {default}, which is requested where requests is absent:"
        f" raise it, or set requests.{key} as well",
        ".limits",
    )


def _request_fits(key: str) -> Rule:
    in_limits = f"{_amount('requests', key)}.compareTo({_amount('limits', key)}) <= 0"
    return Rule(
        _if_given("requests", key, _if_given("limits", key, in_limits)),
        f"requests.{key} must not exceed limits.{key}: lower the request or raise the limit",
        ".requests",
    )


class Resources(Resource):
    """Compute resources of a node's container."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *_amounts("requests"),
            *_amounts("limits"),
            _least("limits", "cpu", "10m", "the kernel grants no smaller share"),
            _least("limits", "memory", "24Mi", "a node at rest needs that"),
            _least("limits", "ephemeral-storage", "8Mi", "the log of a node needs that"),
            *(_default_fits(key) for key in DEFAULT_REQUESTS),
            *(_request_fits(key) for key in ("cpu", *_BYTES)),
            Rule(
                "!has(self.requests) || self.requests.all(key, !key.contains('/')"
                " || (has(self.limits) && key in self.limits"
                f" && {approximately('self.requests[key]')}"
                f" == {approximately('self.limits[key]')}))",
                "an extended resource must have the same amount in requests and limits: set it in"
                " limits alone",
                ".requests",
            ),
        )
    )

    requests: Annotated[dict[str, Quantity], Field(max_length=8)] | None = None
    """Resources that the scheduler reserves; decimals are quoted: "0.1". Absent means cpu 10m and
    memory 48Mi. A node without a cpu limit runs as many Erlang schedulers as it requests CPUs, at
    least 1."""

    limits: Annotated[dict[str, Quantity], Field(max_length=8)] | None = None
    """Most resources that the container may use; decimals are quoted. Absent means no limit."""


class Toleration(Resource):
    """Lets pods run on Kubernetes nodes with a matching taint."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.key) || (has(self.operator) && self.operator == 'Exists')",
                "operator must be Exists where key is absent, which matches every taint: set key"
                " or operator",
                ".operator",
            ),
            Rule(
                "!has(self.operator) || self.operator != 'Exists' || !has(self.value)"
                " || self.value == ''",
                "value must be absent with operator Exists: remove it or use operator Equal",
                ".value",
            ),
            Rule(
                "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
                "tolerationSeconds may only be set with effect NoExecute: remove it or set effect",
                ".tolerationSeconds",
            ),
        )
    )

    key: LabelKey | None = None
    """The taint's key; absent with operator Exists matches every taint."""

    operator: Literal["Exists", "Equal"] | None = None
    """How the key relates to the value: Equal (the default of Kubernetes) or Exists."""

    value: LabelValue | None = None
    """The taint's value, with operator Equal."""

    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The taint's effect; absent matches all effects."""

    toleration_seconds: int | None = Field(default=None, json_schema_extra={"maximum": 31_536_000})
    """With effect NoExecute: seconds before the pod is evicted, at most a year; 0 or less
    means at once, absent never."""


Tolerations = Annotated[
    tuple[Toleration, ...], Field(max_length=16, json_schema_extra=rules(distinct("toleration")))
]
"""Taints that pods tolerate."""


class Rollout(Resource):
    """How a change of image, configuration or pod template reaches the pods."""

    max_unavailable: IntOrPercent = "10%"
    """Most pods that are replaced at once, as a count or a share of `spec.replicas`, and at
    least 1. The next batch waits until the overlay is one component again."""


class NetworkPolicy(Resource):
    """Restriction of connections to the nodes."""

    enabled: bool = True
    """Create a NetworkPolicy that admits overlay connections from the cluster's own pods only. The
    HTTP port stays open for probes, Prometheus and the operator."""
