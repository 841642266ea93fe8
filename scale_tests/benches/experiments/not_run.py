"""The cells of an experiment that were not run, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.cluster.kube import Json
from scale_tests.measure.cells import Result
from scale_tests.measure.page import Table

NOT_YET = "the run has not reached it: the same command continues"


def cells(
    experiment: Experiment, results: Iterable[Result], reasons: Mapping[str, str]
) -> list[Json]:
    """The points of the matrix without a result, as documents have them.

    Reasons are by the points' slugs.
    """
    done = {(cell.nodes, cell.overlay, cell.synchronization, cell.trial) for cell in results}
    return [
        {
            "nodes": point.nodes,
            "overlay": point.overlay.name,
            "synchronization": point.synchronization,
            "trial": point.trial,
            "reason": reasons.get(point.slug, NOT_YET),
        }
        for point in experiment.points()
        if (point.nodes, point.overlay.name, point.synchronization, point.trial) not in done
    ]


def table(experiment: Experiment, missing: Sequence[Json]) -> Table:
    """A row for the cells of a size and an overlay that have a reason in common."""
    rows: dict[tuple[str, int, str], list[str]] = {}
    for cell in missing:
        trial = f" #{cell['trial']}" if experiment.trials > 1 else ""
        key = (cell["overlay"], cell["nodes"], cell["reason"])
        rows.setdefault(key, []).append(f"{cell['synchronization']}{trial}")
    return Table(
        head=("overlay", "synchronizations", "nodes", "why"),
        rows=[
            [overlay, ", ".join(modes), f"{nodes:,}", reason]
            for (overlay, nodes, reason), modes in rows.items()
        ],
    )
