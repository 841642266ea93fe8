"""An experiment as data: which clusters are run, their workload, and its targets.

A file such as `experiments/paper.yaml` is one `Experiment`. Its matrix, sizes x overlays x
synchronizations x trials, is a list of `Point`s; every point is one PartisanCluster.
"""

import random
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from scale_tests.benches.experiments.parts import (
    AdCounter,
    Overlay,
    Part,
    Synchronization,
    Threshold,
    spelled_out,
)
from scale_tests.cluster import crd
from scale_tests.cluster.kube import Json, manifest
from scale_tests.cluster.quantities import duration, seconds

CLUSTER = "ads"
"""The name of every point's PartisanCluster; its pods are `ads-0` and on."""

SHORTEST_INTERVAL = 0.02
"""Seconds: below this a node has no time left between two increments, or exchanges."""


class ExperimentError(ValueError):
    """An experiment that cannot be run; the text names each field and what to write there."""


class Experiment(Part):
    """One experiment."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
    title: str
    quick: bool = False
    """Whether this is a short form of another experiment; its results are marked as such."""

    sizes: Annotated[list[int], Field(min_length=1)]
    overlays: Annotated[list[Annotated[Overlay, BeforeValidator(spelled_out)]], Field(min_length=1)]
    synchronizations: Annotated[list[Synchronization], Field(min_length=1)]
    trials: Annotated[int, Field(ge=1, le=1000)] = 1
    seed: int = 1
    """Written with each cell; nodes draw their own randomness."""

    ad_counter: AdCounter = AdCounter()
    speedup: Annotated[float, Field(ge=1)] = 1.0
    """Time compression of counting and propagation. The overlay's own timers stay as they are."""

    speedup_from: dict[int, Annotated[float, Field(ge=1)]] = Field(default_factory=dict)
    """Lower time compression of larger clusters, by the minimum number of nodes."""

    stall_seconds: Annotated[float, Field(gt=0)] = 120.0
    """A cell fails when nothing of it has changed for so long."""

    settle_seconds: Annotated[float, Field(ge=0)] = 10.0
    """The longest wait for the machine to be at rest before a cell."""

    rest_seconds: Annotated[float, Field(ge=0)] = 0.0
    """Duration of the sampling of this machine with the cluster at rest after its run."""

    spec: Json = Field(default_factory=dict)
    """Further members of each cluster's spec, such as `resources` or `nodeSelector`."""

    spec_from: dict[int, Json] = Field(default_factory=dict)
    """Members of larger clusters' specs, by the number of nodes from which on they hold: such
    clusters may have to request less of each machine."""

    thresholds: list[Threshold] = Field(default_factory=list)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        most = crd.largest()
        for size in self.sizes:
            if not 1 <= size <= most:
                raise ValueError(f"sizes: {size} is not from 1 to {most}")
        for field in {*self.spec, *(name for spec in self.spec_from.values() for name in spec)}:
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

    def points(self) -> list["Point"]:
        """All points of the matrix, small clusters first."""
        trials = range(1, self.trials + 1)
        axes = (sorted(self.sizes), self.overlays, self.synchronizations, trials)
        return [Point(self, *members) for members in product(*axes)]

    def speedup_of(self, nodes: int) -> float:
        """The time compression of a cluster of so many nodes."""
        slower = (factor for least, factor in self.speedup_from.items() if nodes >= least)
        return min([self.speedup, *slower])

    def spec_of(self, nodes: int) -> Json:
        """The further members of the spec of a cluster of so many nodes."""
        larger = [self.spec_from[least] for least in sorted(self.spec_from) if nodes >= least]
        return {name: value for spec in (self.spec, *larger) for name, value in spec.items()}


@dataclass(frozen=True)
class Point:
    """One cluster of an experiment's matrix."""

    experiment: Experiment
    nodes: int
    overlay: Overlay
    synchronization: str
    trial: int

    @property
    def name(self) -> str:
        """Its name for people."""
        return f"{self.nodes} nodes, {self.overlay.name}, {self.synchronization}, #{self.trial}"

    @property
    def slug(self) -> str:
        """The name of its files."""
        overlay = "-".join(self.overlay.name.lower().split())
        return f"{self.nodes:04}-{overlay}-{self.synchronization.lower()}-{self.trial}"

    @property
    def seed(self) -> int:
        """Of what is chosen at random in this cell alone."""
        return random.Random(f"{self.experiment.seed} {self.slug}").getrandbits(31)

    @property
    def speedup(self) -> float:
        """Its time compression."""
        return self.experiment.speedup_of(self.nodes)

    def counting_seconds(self) -> float:
        """Seconds for which each node counts, by its interval."""
        counter = self.experiment.ad_counter
        return counter.increments * seconds(counter.increment_interval) / self.speedup

    @property
    def threshold(self) -> int:
        """The impressions at which the ad is disabled."""
        return self.nodes * self.experiment.ad_counter.increments

    def manifest(self) -> Json:
        """Its PartisanCluster."""
        counter = self.experiment.ad_counter

        def compressed(interval: str) -> str:
            return duration(seconds(interval) / self.speedup)

        counts = {
            "ads": 1,
            "impressions": self.threshold,
            "incrementInterval": compressed(counter.increment_interval),
            "propagationInterval": compressed(counter.propagation_interval),
        }
        return manifest(
            CLUSTER,
            **self.experiment.spec_of(self.nodes),
            replicas=self.nodes,
            overlay=self.overlay.spec,
            workload={"adCounter": counts, "synchronization": self.synchronization},
        )


def load(path: Path, **changes: Any) -> Experiment:
    """Reads an experiment; `changes` replace fields of the file, where they are not None.

    Raises ExperimentError where it cannot be run.
    """
    try:
        document = yaml.safe_load(path.read_text())
    # ValueError of bytes that are no text, or a date such as 2026-99-99.
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
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
