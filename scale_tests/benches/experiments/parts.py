"""The parts of an experiment's file: overlay, workload, thresholds."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from scale_tests.cluster import crd
from scale_tests.cluster.kube import Json
from scale_tests.cluster.quantities import amount, seconds

Figure = Literal[
    "bytes_payload",
    "bytes_frames",
    "bytes_tcp",
    "overcounting_percent",
    "seconds_to_ready",
    "seconds_to_joined",
    "seconds_to_converge",
    "intervals_to_converge",
    "memory_bytes_per_node",
    "cpu_seconds_per_node",
    "busy_at_rest",
]
"""A figure of `cells.Result` that may have a threshold."""


class Part(BaseModel):
    """A part of an experiment's file: names as in a manifest, and none that is not known."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )


def _one_of(known: Sequence[str], what: str, value: str) -> str:
    if value not in known:
        raise ValueError(f"{value!r} is no {what}: choose one of {', '.join(known)}")
    return value


def _duration(value: str) -> str:
    seconds(value)
    return value


def spelled_out(value: Any) -> Any:
    """An overlay as a map: `HyParView` alone stands for `{kind: HyParView}`."""
    return {"kind": value} if isinstance(value, str) else value


Duration = Annotated[str, AfterValidator(_duration)]
Synchronization = Annotated[
    str, AfterValidator(lambda value: _one_of(crd.synchronizations(), "synchronization", value))
]


class Overlay(BaseModel):
    """An overlay with its parameters, as `spec.overlay` has it, and how tables call it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    label: str = ""

    @model_validator(mode="after")
    def _known(self) -> Self:
        _one_of(crd.overlays(), "overlay", self.kind)
        return self

    @property
    def spec(self) -> Json:
        """`spec.overlay` of the cluster."""
        return {"kind": self.kind, **(self.model_extra or {})}

    @property
    def name(self) -> str:
        """The label, or the kind with the parameters."""
        parameters = [
            f"{key} {value}"
            for member in (self.model_extra or {}).values()
            if isinstance(member, dict)
            for key, value in member.items()
        ]
        return self.label or " ".join([self.kind, *parameters])


class AdCounter(Part):
    """The workload. The defaults are the published configuration."""

    increments: Annotated[int, Field(ge=1)] = 180
    """Of each node in the mean: a run ends at a threshold of so many times the nodes, as the
    published one did, so that a faster node counts for a slower one."""

    increment_interval: Duration = "10s"
    propagation_interval: Duration = "5s"


class Threshold(Part):
    """The bounds of a figure, in all cells that the other members select."""

    figure: Figure
    most: Annotated[float, BeforeValidator(amount)] | None = None
    least: Annotated[float, BeforeValidator(amount)] | None = None
    nodes: int | None = None
    overlay: str | None = None
    synchronization: Synchronization | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.most is None and self.least is None:
            raise ValueError("a threshold needs a bound: set most or least")
        return self

    def selects(self, nodes: int, overlay: str, synchronization: str) -> bool:
        """Whether it speaks of a cell, of which the overlay is named as tables do."""
        return (
            self.nodes in (None, nodes)
            and self.overlay in (None, overlay)
            and self.synchronization in (None, synchronization)
        )
