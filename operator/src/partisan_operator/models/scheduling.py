"""Where the pods run and what they may use."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from partisan_operator.models.base import Resource
from partisan_operator.models.quantities import IntOrPercent, Quantity

# These two types of the core API are large and grow with Kubernetes. Their schema is left to the
# API server, which checks them in the StatefulSet; what it says there becomes a condition here.
_OPAQUE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
OpaqueObject = Annotated[dict[str, Any], WithJsonSchema(_OPAQUE)]

LabelValue = Annotated[str, Field(max_length=63)]


class ImagePullPolicy(StrEnum):
    """When the kubelet pulls the image."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class LocalObjectReference(Resource):
    """Names an object in the namespace of the cluster."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """The name of the object."""


class Resources(Resource):
    """Compute resources of a node's container."""

    requests: Annotated[dict[str, Quantity], Field(max_length=8)] | None = None
    """What the scheduler reserves. Absent means cpu 10m and memory 48Mi. A node that has no limit
    of cpu runs as many Erlang schedulers as it asks for CPUs, at least 1."""

    limits: Annotated[dict[str, Quantity], Field(max_length=8)] | None = None
    """What the container may use at most. Absent means no limit."""


class Toleration(Resource):
    """Lets pods run on nodes with a matching taint."""

    key: Annotated[str, Field(max_length=316)] | None = None
    """The taint's key; absent with operator Exists matches every taint."""

    operator: Literal["Exists", "Equal"] | None = None
    """How the key relates to the value: Equal (the default of Kubernetes) or Exists."""

    value: LabelValue | None = None
    """The taint's value, with operator Equal."""

    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The taint's effect; absent matches all effects."""

    toleration_seconds: int | None = None
    """With effect NoExecute: seconds before the pod is evicted; absent means never."""


class Rollout(Resource):
    """How a change of image, configuration or pod template reaches the pods."""

    max_unavailable: IntOrPercent = "10%"
    """Most pods that are replaced at once, as a count or a share of `spec.replicas`, and at
    least 1. The next batch waits until the overlay is one component again."""


class NetworkPolicy(Resource):
    """Who may connect to the nodes."""

    enabled: bool = True
    """Makes a NetworkPolicy that admits overlay connections from the cluster's own pods only.
    The HTTP port stays open for probes, Prometheus and the operator."""
