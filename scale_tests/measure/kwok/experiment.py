"""One scenario: clusters are formed, rest, and may go through a storm of changes of their pods."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from scale_tests.cluster.kube import holds
from scale_tests.cluster.kwok import audit, clusters, startup
from scale_tests.cluster.kwok.control_plane import control_plane
from scale_tests.cluster.kwok.machines import USER as KWOK
from scale_tests.cluster.kwok.machines import count_for, machines
from scale_tests.cluster.kwok.operator_process import (
    LEAST_PAUSE,
    USER,
    OperatorProcess,
    operator_process,
)
from scale_tests.cluster.kwok.phases import Mark, mark, phase, sampling, writes_so_far
from scale_tests.cluster.kwok.stand_in import stand_in
from scale_tests.cluster.wait import StallClock
from scale_tests.host.units import MIB
from scale_tests.measure.spread import Cell, read

CHANGES = 1000
"""Changes of pods in a storm."""

_CALM_SECONDS = 20.0
_CALM_WITHIN = 300.0


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The plan of one measurement."""

    clusters: int
    pods: int
    """Of each cluster."""

    rest_seconds: float
    """Duration of the measurement at rest."""

    storm_pods: int = 0
    """The pods over which the storm's changes are spread; 0 for no storm."""

    default_limits: bool = False
    """Whether controllers ask the API server at the rates that Kubernetes gives them, or at the
    local cluster's, which are higher."""

    @property
    def title(self) -> str:
        """The scenario, as captions name it."""
        one = self.clusters == 1
        return f"{self.clusters} cluster{'' if one else 's'} of {self.pods:,} simulated pods"


def scenario_of(cell: Cell) -> Scenario:
    """The scenario that was measured."""
    return read(Scenario, cell)


def peak_mib(cell: Cell) -> float:
    """The operator's most memory, in MiB."""
    return float(cell["peak_memory_bytes"]) / MIB


def storm_bound(clusters_: int, seconds: float) -> int:
    """The most reconciles of so many clusters within a time: the operator pauses between two."""
    return round(clusters_ * (seconds / LEAST_PAUSE + 1))


def measure(scenario: Scenario, directory: Path, say: Callable[[str], None]) -> Cell:
    """Measures a scenario on a control plane of its own, kept in a directory.

    Raises ExpectedError, ApiError, StalledError.
    """
    say(f"{scenario.title}: starting")
    total = scenario.clusters * scenario.pods
    users = [USER, startup.CREATOR, KWOK]
    with (
        control_plane(directory, audited=users, default_limits=scenario.default_limits) as plane,
        machines(plane, count_for(total)),
        stand_in(plane),
        operator_process(plane) as operator,
        sampling(plane.cluster, operator) as samples,
    ):
        clusters.prepare(plane.cluster)
        began = mark(operator)
        ready_seconds = clusters.stand_up(
            plane.cluster, scenario.clusters, scenario.pods, lambda text: say(f"  {text}")
        )
        formed = mark(operator)
        _calm(operator)
        resting = mark(operator)
        say(f"  at rest for {scenario.rest_seconds:.0f} s")
        time.sleep(scenario.rest_seconds)
        rested = calm = mark(operator)
        if scenario.storm_pods:
            say(f"  {CHANGES} changes of pods")
            clusters.disturb(plane.cluster, scenario.storm_pods, CHANGES)
            calm = _calm(operator)
        with plane.audit_log.open() as log:
            found = list(audit.requests(log))
        cell: Cell = {
            "pods_are": "simulated",
            **asdict(scenario),
            "ready_seconds": [round(seconds, 2) for seconds in ready_seconds],
            "startup": asdict(startup.measure(audit.between(found, began.at, formed.at))),
            "forming": asdict(phase(began, formed, found)),
            "at_rest": asdict(phase(resting, rested, found)),
        }
        if scenario.storm_pods:
            storm = phase(rested, calm, found)
            bound = storm_bound(scenario.clusters, storm.seconds)
            cell |= {"storm": asdict(storm), "storm_changes": CHANGES, "storm_bound": bound}
        return {
            **cell,
            "in_all": asdict(phase(began, calm, found)),
            "clusters_ready_at_end": sum(
                holds(item, "Ready") for item in clusters.statuses(plane.cluster)
            ),
            "peak_memory_bytes": operator.peak_memory_bytes(),
            "samples": [*samples],
        }


def _calm(operator: OperatorProcess) -> Mark:
    """Waits until the operator has stopped writing; returns the time of its last write.

    After a while it returns anyway: the writes then show in the measurement.
    """
    clock, began = StallClock(), time.monotonic()
    last, count = mark(operator), -1
    while time.monotonic() - began < _CALM_WITHIN:
        present = mark(operator)
        if writes_so_far(present.page) != count:
            last, count = present, writes_so_far(present.page)
        if clock.observe(count) >= _CALM_SECONDS:
            break
        time.sleep(1.0)
    return last
