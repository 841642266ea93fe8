"""The figures of one cell, as its JSON has them."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from scale_tests.cluster.kube import Json
from scale_tests.cluster.quantities import seconds

SLOW = 1.25
"""The slowdown from which a run is reported as slow."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One node. Times are seconds since the apply; None if not reached, or unknown.

    Bytes sent and processor time are since its process started.
    """

    name: str
    seconds_to_boot: float | None
    seconds_to_joined: float | None
    seconds_to_ready: float | None
    increments: int
    bytes_payload: int
    bytes_frames: int
    bytes_tcp: int | None
    cpu_seconds: float
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Component:
    """A part of the control plane: processor time over the cell, memory at its end."""

    name: str
    cpu_seconds: float
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Rest:
    """The machine while a cluster whose run has ended is at rest: all of it, not its pods alone."""

    seconds: float
    busy: float
    """The share of the processors' time that was not idle."""
    memory_bytes: int
    """Memory in use that is not reclaimable."""
    swapped_bytes: int
    """Swapped memory, before compression."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One cell. What was not reached, or cannot be known on this cluster, is None."""

    nodes: int
    overlay: str
    synchronization: str
    simulated: bool
    speedup: float
    trial: int
    seed: int

    converged: bool
    """Every node knows that all have counted to the end, and all hold the same counters."""
    exact: bool | None
    """Whether each replica's count of its own actor equals the node's increments. None where no
    node keeps counts by actor; with Aggregate a node keeps its own alone."""
    value: int
    """The value that every node holds; the operator's last one where they differ."""
    increments_sum: int
    """The increments that the nodes report."""
    lost: int
    """Increments that were lost with nodes before any other had them."""
    threshold: int
    overcounting_percent: float

    bytes_payload: int
    bytes_frames: int
    bytes_tcp: int | None
    bytes_frames_by_channel: Mapping[str, int]

    seconds_to_ready: float | None
    seconds_to_joined: float | None
    seconds_running: float | None
    seconds_to_converge: float | None
    seconds_to_delete: float | None
    seconds_in_all: float

    mean_degree: float
    restarts: int
    memory_kind: str
    """`pss`: the kernel's proportional set size; `resident`: as the nodes report it."""
    memory_bytes_per_node: float
    cpu_seconds_per_node: float
    control_plane: tuple[Component, ...]
    members: tuple[Member, ...]

    busy_before: float | None
    """The share of the machine's processors that was busy before the cell began."""
    at_rest: Rest | None = None
    """None where the experiment does not measure it."""
    left: tuple[str, ...]
    """Objects that its deletion has left."""
    error: str | None
    """The reason why it is incomplete."""
    faults: Json | None
    started: str
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    config: Json = field(default_factory=dict)
    """The manifest."""

    @property
    def slowdown(self) -> float | None:
        """The time of the run over that of counting by its interval.

        Far above 1 the machine did not keep up, or convergence was slow: more exchanges went on.
        """
        if self.seconds_running is None or self.seconds_to_converge is None:
            return None
        return self.seconds_running / (self.seconds_running - self.seconds_to_converge)

    @property
    def intervals_to_converge(self) -> float | None:
        """`seconds_to_converge` in propagation intervals, which compare at any time compression."""
        if self.seconds_to_converge is None:
            return None
        counter = self.config["spec"]["workload"]["adCounter"]
        return round(self.seconds_to_converge / seconds(counter["propagationInterval"]), 3)

    @property
    def busy_at_rest(self) -> float | None:
        """The share of the machine's processors that is busy with the cluster at rest."""
        return None if self.at_rest is None else self.at_rest.busy

    def json(self) -> Json:
        """As it is written."""
        return asdict(self)

    def brief(self) -> Json:
        """Without the single nodes, and fields that hardly differ between cells."""
        return {
            key: value
            for key, value in self.json().items()
            if key not in ("members", "versions", "machine")
        } | {"intervals_to_converge": self.intervals_to_converge}


def result(document: Json) -> Result:
    """The result of a document that `Result.json` wrote. Raises TypeError: of another version."""
    return Result(
        **{
            **document,
            "members": tuple(Member(**member) for member in document["members"]),
            "control_plane": tuple(Component(**part) for part in document["control_plane"]),
            "at_rest": Rest(**document["at_rest"]) if document.get("at_rest") else None,
            "left": tuple(document["left"]),
        }
    )


def mean(values: Sequence[float]) -> float:
    """The mean, 0 of nothing."""
    return statistics.fmean(values) if values else 0.0


def median(values: Sequence[float]) -> float:
    """The median, 0 of nothing."""
    return statistics.median(values) if values else 0.0
