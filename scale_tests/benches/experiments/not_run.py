"""The cells of an experiment that were not run, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scale_tests.benches.experiments.experiment import Experiment, Point
from scale_tests.cluster.kube import Json
from scale_tests.measure.cells import Result
from scale_tests.measure.page import Table

NOT_YET = "the run has not come to it: the same command goes on"


@dataclass(frozen=True, kw_only=True)
class NotRun:
    """One of them."""

    point: Point
    reason: str

    def json(self) -> Json:
        """As it is written."""
        return {
            "nodes": self.point.nodes,
            "overlay": self.point.overlay.name,
            "synchronization": self.point.synchronization,
            "trial": self.point.trial,
            "reason": self.reason,
        }


def cells(
    experiment: Experiment, results: Iterable[Result], reasons: Mapping[str, str]
) -> list[NotRun]:
    """The points of the matrix of which there is no result; reasons are by their slugs."""
    done = {(cell.nodes, cell.overlay, cell.synchronization, cell.trial) for cell in results}
    return [
        NotRun(point=point, reason=reasons.get(point.slug, NOT_YET))
        for point in experiment.points()
        if (point.nodes, point.overlay.name, point.synchronization, point.trial) not in done
    ]


def table(missing: Sequence[NotRun]) -> Table:
    """A row for the cells of a size and an overlay that have a reason in common."""
    rows: dict[tuple[int, str, str], list[str]] = {}
    for cell in missing:
        point = cell.point
        trial = f" #{point.trial}" if point.experiment.trials > 1 else ""
        key = (point.nodes, point.overlay.name, cell.reason)
        rows.setdefault(key, []).append(f"{point.synchronization}{trial}")
    return Table(
        head=("overlay", "synchronizations", "nodes", "why"),
        rows=[
            [overlay, ", ".join(modes), f"{nodes:,}", reason]
            for (nodes, overlay, reason), modes in rows.items()
        ],
    )
