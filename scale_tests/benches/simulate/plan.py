"""The experiments to run, and their sizes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from scale_tests.host.documents import data_of

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
    """Cycles of healing, at most."""
    increments: int = 180
    """Increments of each node in the ad counter experiment; the paper's number."""

    def arguments(self) -> list[str]:
        """The command line of `simulate.escript`."""
        settings = asdict(self)
        name = settings.pop("experiment")
        return [name, *(f"{key}={value}" for key, value in settings.items())]


FULL = tuple(Job(**job) for job in data_of(__file__))
"""The jobs of `plan.yaml`."""


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
        nodes=max(job.nodes // 10, min(job.nodes, 5)),
        cycles=min(job.cycles, 20),
        failure_cycles=10,
        increments=min(job.increments, 18),
    )
