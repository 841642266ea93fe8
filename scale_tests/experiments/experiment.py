"""An experiment as data: which clusters are run, what they do, and what they are held to.

A file such as `experiments/paper.yaml` is one `Experiment`. Its matrix, sizes x overlays x
synchronizations x trials, is a list of `Point`s; every point is one PartisanCluster.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from scale_tests.experiments import crd, faults
from scale_tests.experiments.quantities import amount, duration, seconds
from scale_tests.harness.kube import Json

CLUSTER = "ads"
"""The name of every point's PartisanCluster; its pods are `ads-0` and on."""

SHORTEST_INTERVAL = 0.02
"""Seconds: below this a node has no time left between two increments, or exchanges."""

Figure = Literal[
    "bytes_payload",
    "bytes_frames",
    "bytes_tcp",
    "overcounting_percent",
    "seconds_to_ready",
    "seconds_to_joined",
    "seconds_to_converge",
    "memory_bytes_per_node",
    "cpu_seconds_per_node",
]
"""What a threshold may speak of: a figure of `result.Result`."""


class ExperimentError(ValueError):
    """An experiment that cannot be run; the text names each field and what to write there."""


class Part(BaseModel):
    """A part of an experiment's file: names as in a manifest, and none that is not known."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )


def _one_of(known: Sequence[str], what: str, value: str) -> str:
    if value not in known:
        raise ValueError(f"{value!r} is no {what}: choose one of {', '.join(known)}")
    return value


def _synchronization(value: str) -> str:
    return _one_of(crd.synchronizations(), "synchronization", value)


def _duration(value: str) -> str:
    seconds(value)
    return value


def _overlay(value: Any) -> Any:
    """`HyParView` alone stands for `{kind: HyParView}`."""
    return {"kind": value} if isinstance(value, str) else value


Duration = Annotated[str, AfterValidator(_duration)]
Synchronization = Annotated[str, AfterValidator(_synchronization)]


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
        """The label, or what tells this overlay from others of its kind."""
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
    """What a figure is held to, in all cells that the other members select."""

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


class Faults(Part):
    """What a cell suffers while it runs."""

    hook: str
    """`package.module:function`, a `faults.Fault`."""

    parameters: dict[str, Any] = {}

    @model_validator(mode="after")
    def _importable(self) -> Self:
        faults.load(self.hook)
        return self


class Experiment(Part):
    """One experiment."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
    title: str
    quick: bool = False
    """Whether this is a short form of another experiment, which its results then say."""

    sizes: Annotated[list[int], Field(min_length=1)]
    overlays: Annotated[list[Annotated[Overlay, BeforeValidator(_overlay)]], Field(min_length=1)]
    synchronizations: Annotated[list[Synchronization], Field(min_length=1)]
    trials: Annotated[int, Field(ge=1)] = 1
    seed: int = 1
    """Decides what faults choose; nodes draw their own randomness."""

    ad_counter: AdCounter = AdCounter()
    speedup: Annotated[float, Field(ge=1)] = 1.0
    """How many times as fast as configured the ad counter counts and propagates. The overlay's
    own timers stay as they are."""

    speedup_from: dict[int, Annotated[float, Field(ge=1)]] = {}
    """By the number of nodes from which on it holds: a lower speedup of larger clusters, which
    have more to do in the same time."""

    stall_seconds: Annotated[float, Field(gt=0)] = 120.0
    """A cell fails when nothing of it has moved for so long."""

    settle_seconds: Annotated[float, Field(ge=0)] = 10.0
    """How long at most a cell waits for the machine to be at rest before it begins."""

    spec: Json = {}
    """Further members of each cluster's spec, such as `resources` or `nodeSelector`."""

    faults: Faults | None = None
    thresholds: list[Threshold] = []

    @model_validator(mode="after")
    def _possible(self) -> Self:
        most = crd.largest()
        for size in self.sizes:
            if not 1 <= size <= most:
                raise ValueError(f"sizes: {size} is not from 1 to {most}")
        for field in self.spec:
            if field in ("replicas", "overlay", "workload"):
                raise ValueError(f"spec.{field} is made from the matrix: remove it")
            if field not in crd.fields():
                raise ValueError(f"spec.{field} is no member of a PartisanCluster's spec")
        intervals = (self.ad_counter.increment_interval, self.ad_counter.propagation_interval)
        shortest = min(map(seconds, intervals))
        if shortest / self.speedup < SHORTEST_INTERVAL:
            raise ValueError(
                f"speedup: {self.speedup:g} leaves {1000 * shortest / self.speedup:.1f} ms of the"
                f" shorter interval: at most {shortest / SHORTEST_INTERVAL:g} is possible"
            )
        return self

    def points(self) -> list[Point]:
        """All points of the matrix, small clusters first."""
        return [
            Point(
                experiment=self,
                nodes=nodes,
                overlay=overlay,
                synchronization=synchronization,
                trial=trial,
            )
            for nodes in sorted(self.sizes)
            for overlay in self.overlays
            for synchronization in self.synchronizations
            for trial in range(1, self.trials + 1)
        ]

    def speedup_of(self, nodes: int) -> float:
        """The speedup of a cluster of so many nodes."""
        slower = (speedup for least, speedup in self.speedup_from.items() if nodes >= least)
        return min(self.speedup, *slower, math.inf)

    def speedup_text(self) -> str:
        """The speedups of the sizes that are run, such as "30, from 256 nodes on 10"."""
        text, last = f"{self.speedup_of(min(self.sizes)):g}", self.speedup_of(min(self.sizes))
        for nodes in sorted(self.sizes):
            if (speedup := self.speedup_of(nodes)) != last:
                text, last = f"{text}, from {nodes} nodes on {speedup:g}", speedup
        return text

    @property
    def is_real_time(self) -> bool:
        """Whether no cluster counts faster than configured."""
        return all(self.speedup_of(nodes) == 1 for nodes in self.sizes)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One cluster of an experiment's matrix."""

    experiment: Experiment
    nodes: int
    overlay: Overlay
    synchronization: str
    trial: int

    @property
    def name(self) -> str:
        """How progress calls it."""
        return f"{self.nodes} nodes, {self.overlay.name}, {self.synchronization}, #{self.trial}"

    @property
    def slug(self) -> str:
        """How its files are called."""
        overlay = "-".join(self.overlay.name.lower().split())
        return f"{self.nodes:04}-{overlay}-{self.synchronization.lower()}-{self.trial}"

    @property
    def seed(self) -> int:
        """Of what is chosen at random in this cell alone."""
        return random.Random(f"{self.experiment.seed} {self.slug}").getrandbits(31)

    @property
    def speedup(self) -> float:
        """How many times as fast as configured its nodes count and propagate."""
        return self.experiment.speedup_of(self.nodes)

    def counting_seconds(self) -> float:
        """How long each node counts, by its interval."""
        counter = self.experiment.ad_counter
        return counter.increments * seconds(counter.increment_interval) / self.speedup

    @property
    def threshold(self) -> int:
        """The impressions at which the ad is disabled."""
        return self.nodes * self.experiment.ad_counter.increments

    def manifest(self) -> Json:
        """Its PartisanCluster."""
        counter, speedup = self.experiment.ad_counter, self.speedup
        return {
            "apiVersion": "partisan.dev/v1alpha1",
            "kind": "PartisanCluster",
            "metadata": {"name": CLUSTER},
            "spec": {
                **self.experiment.spec,
                "replicas": self.nodes,
                "overlay": self.overlay.spec,
                "workload": {
                    "adCounter": {
                        "ads": 1,
                        "impressions": self.threshold,
                        "incrementInterval": duration(
                            seconds(counter.increment_interval) / speedup
                        ),
                        "propagationInterval": duration(
                            seconds(counter.propagation_interval) / speedup
                        ),
                    },
                    "synchronization": self.synchronization,
                },
            },
        }


def load(path: Path, **changes: Any) -> Experiment:
    """Reads an experiment; `changes` replace fields of the file, where they are not None.

    Raises:
        ExperimentError: it cannot be run.
    """
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ExperimentError(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise ExperimentError(f"{path}: an experiment is a map with name, title, sizes and on")
    document |= {key: value for key, value in changes.items() if value is not None}
    try:
        return Experiment.model_validate(document)
    except ValidationError as error:
        raise ExperimentError(f"{path}:\n" + "\n".join(_problems(error))) from error


def _problems(error: ValidationError) -> list[str]:
    """Each problem in a line that names the field."""
    lines = []
    for problem in error.errors(include_url=False):
        field = ".".join(map(str, problem["loc"]))
        text = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            text = "no such field: remove it, or correct its name"
        lines.append(f"  {field}: {text}" if field else f"  {text}")
    return lines
