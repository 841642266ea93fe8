"""The targets of an experiment's cells."""

import operator
from collections.abc import Sequence

from scale_tests.benches.experiments import comparison
from scale_tests.benches.experiments.comparison import Simulated
from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.benches.experiments.parts import Threshold
from scale_tests.host.units import GIB, MIB
from scale_tests.measure.cells import Result
from scale_tests.measure.checks import Check, equal


def checks(
    experiment: Experiment, results: Sequence[Result], rows: Sequence[Simulated] = ()
) -> list[Check]:
    """The claims on all cells that were run, then every threshold of the experiment.

    A threshold that selects no cell that was run is checked against simulated ones, which its name
    says, or not at all. `rows` are simulated cells that may stand next to the experiment's.
    """
    claims = {
        "cells that came to their end with equal counters everywhere": [
            cell.converged and cell.error is None for cell in results
        ],
        "cells in which every increment counts once, or is known to be lost": [
            cell.value + cell.lost == cell.increments_sum and cell.exact is not False
            for cell in results
        ],
        "cells whose deletion left nothing": [not cell.left for cell in results],
    }
    return [equal(name, sum(held), len(results)) for name, held in claims.items()] + [
        check
        for threshold in experiment.thresholds
        for check in _checks(threshold, experiment, results, rows)
    ]


def _checks(
    threshold: Threshold,
    experiment: Experiment,
    results: Sequence[Result],
    rows: Sequence[Simulated],
) -> list[Check]:
    """A check for each bound, of the worst of the cells that a threshold selects."""
    cells: list[Result | Simulated] = [cell for cell in results if _selects(threshold, cell)]
    part = _part(threshold, experiment, len(cells))
    if not cells and threshold.figure in comparison.FIGURES:
        cells = [row for row in rows if _selects(threshold, row)]
        part = "; ".join(dict.fromkeys(row.label for row in rows if row in cells))
    values = [getattr(cell, threshold.figure) for cell in cells]
    is_reached = bool(cells) and None not in values
    found = []
    for bound, sign, worst, holds in (
        (threshold.most, "<=", max, operator.le),
        (threshold.least, ">=", min, operator.ge),
    ):
        if bound is not None:
            value = _shown(threshold.figure, worst(values)) if is_reached else "not reached"
            found.append(
                Check(
                    name=_name(threshold, part),
                    value=value if cells else None,
                    bar=f"{sign} {_shown(threshold.figure, bound)}",
                    ok=is_reached and holds(worst(values), bound) if cells else None,
                )
            )
    return found


def _selects(threshold: Threshold, cell: Result | Simulated) -> bool:
    return threshold.selects(cell.nodes, cell.overlay, cell.synchronization)


def _part(threshold: Threshold, experiment: Experiment, run: int) -> str:
    """Which part of the cells that a threshold selects was run; empty where all or none were."""
    wanted = sum(
        threshold.selects(point.nodes, point.overlay.name, point.synchronization)
        for point in experiment.points()
    )
    return f"{run} of {wanted} cells" if 0 < run < wanted else ""


def _name(threshold: Threshold, part: str) -> str:
    nodes = f"{threshold.nodes:,} nodes" if threshold.nodes else ""
    where = filter(None, (threshold.overlay, threshold.synchronization, nodes, part))
    return f"{threshold.figure} ({', '.join(where) or 'all cells'})"


def _shown(figure: str, value: float) -> str:
    """A figure in the unit in which people compare it."""
    if figure.startswith("bytes"):
        return f"{value / GIB:.4g} GiB"
    if figure.startswith("memory"):
        return f"{value / MIB:.4g} MiB"
    return f"{value:.4g}"
