"""Which experiments run, and how large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

PAPER_NODES = 10_000
"""The size of the clusters in the papers."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One experiment of the simulator, with its size."""

    experiment: str
    nodes: int = PAPER_NODES
    seed: int = 1
    cycles: int = 50
    """Cycles of the membership protocol before anything is measured; the paper's number."""
    messages: int = 1000
    """Broadcasts that a point is the mean of; the paper's number."""
    simulated: int = 20
    """Those of them that are simulated message by message. By then the overlay is quiet, and the
    others are computed from its graph; fewer miss part of the recovery."""
    failure_cycles: int = 20
    """Cycles with steady failures. The paper has 100, and nothing changes after the first few."""
    healing_cycles: int = 20
    """How many cycles healing is waited for."""
    increments: int = 180
    """How often each node counts in the ad counter experiment; the paper's number."""

    def arguments(self) -> list[str]:
        """The command line of `simulate.escript`."""
        settings = asdict(self)
        name = settings.pop("experiment")
        return [name, *(f"{key}={value}" for key, value in settings.items())]


TRANSMITTED = {
    "state": {32: 180, 64: 60, 128: 12, 256: 9, 512: 9, 1024: 9},
    "delta": {32: 180, 64: 60, 128: 12, 256: 12, 512: 9, 1024: 9},
    "tree": {32: 180, 64: 60, 128: 12, 256: 12, 512: 9, 1024: 9},
    "aggregate": dict.fromkeys((32, 64, 128, 256, 512, 1024), 180),
}
"""Increments of each node in the ad counter experiment, by the way to synchronise and the nodes.

A part of the half hour where it would take long: each interval is as the one before. The work of an
interval grows with the square of the nodes, and is by far the most where whole states are read.
"""

COUNTED_NODES = 128
"""The nodes that count under faults: as many replicas of as many counts as take a minute or two."""

FULL = (
    # The longest first, so that the short ones fill the gap at the end.
    *(
        Job(experiment="scale_curves", nodes=nodes, cycles=1, simulated=3)
        for nodes in (100_000, 10_000, 1_024, 128)
    ),
    *(
        Job(experiment=f"synchronization_{mode}", nodes=nodes, increments=increments)
        for mode, sizes in TRANSMITTED.items()
        for nodes, increments in reversed(sizes.items())
    ),
    # The only mode whose replicas stay small: ten thousand of the others' do not fit a machine.
    Job(experiment="synchronization_aggregate", increments=12),
    Job(experiment="cyclon_healing", nodes=2_000, healing_cycles=200),
    Job(experiment="plumtree"),
    Job(experiment="scamp"),
    Job(experiment="xbot", nodes=5_000),
    Job(experiment="hyparview"),
    Job(experiment="cyclon"),
    # Every message that meets a dead peer mends a view: few can be left to the graph.
    Job(experiment="cyclon_acked", nodes=2_000, cycles=20, simulated=400),
    Job(experiment="one_contact", cycles=10),
    Job(experiment="burst", cycles=4),
    Job(experiment="burst", nodes=1_024, cycles=4),
    # A minute to settle; what follows is minutes of virtual time for each fault.
    Job(experiment="churn_steady", cycles=6),
    Job(experiment="churn_kill", cycles=6),
    Job(experiment="churn_partition", cycles=6),
    Job(experiment="churn_counter_delta", nodes=COUNTED_NODES, cycles=6),
    Job(experiment="churn_counter_tree", nodes=COUNTED_NODES, cycles=6),
)
"""The papers' sizes, and ten times that for the simulator itself."""


def plan(*, quick: bool, seed: int, only: Sequence[str] = (), most: int | None = None) -> list[Job]:
    """The jobs of a run; `only` restricts them to some experiments, `most` to sizes up to this.

    Quick ones have the same experiments at a tenth of the size. Raises ValueError where `only`
    names an experiment that does not exist, or nothing is left to run.
    """
    known = {job.experiment for job in FULL}
    unknown = ", ".join(sorted(set(only) - known))
    if unknown:
        raise ValueError(f"no experiment {unknown}: there are {', '.join(sorted(known))}")
    jobs = [replace(job, seed=seed) for job in FULL if not only or job.experiment in only]
    if quick:
        jobs = [_quick(job) for job in jobs]
    found = [job for job in jobs if most is None or job.nodes <= most]
    if not found:
        raise ValueError(f"nothing has so few nodes as {most:,}: raise --most")
    return found


def _quick(job: Job) -> Job:
    return replace(
        job,
        nodes=job.nodes // 10,
        cycles=min(job.cycles, 20),
        failure_cycles=10,
        increments=min(job.increments, 18),
    )
