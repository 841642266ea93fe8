"""What an experiment's cells are held to."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from scale_tests.benches.experiments import simulated
from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.benches.experiments.parts import Threshold
from scale_tests.benches.experiments.simulated import Simulated
from scale_tests.host.units import GIB, MIB
from scale_tests.measure.bars import Bar
from scale_tests.measure.cells import Result


def bars(
    experiment: Experiment, results: Sequence[Result], rows: Sequence[Simulated] = ()
) -> list[Bar]:
    """The claims on all cells that were run, then every threshold of the experiment.

    One that selects no cell that was run is held to simulated ones, which its name says, or to
    nothing. `rows` are simulated cells that may stand beside the experiment's.
    """
    return [
        _all("cells that came to their end with equal counters everywhere", results, _converged),
        _all("cells in which every increment counts once, or is known to be lost", results, _sound),
        _all("cells whose deletion left nothing", results, lambda cell: not cell.left),
        *(
            bar
            for threshold in experiment.thresholds
            for bar in _held(threshold, experiment, results, rows)
        ),
    ]


def _all(name: str, results: Sequence[Result], holds: Callable[[Result], bool]) -> Bar:
    good = sum(holds(cell) for cell in results)
    return Bar(name=name, value=good, bar=f"= {len(results)}", ok=good == len(results))


def _converged(cell: Result) -> bool:
    return cell.converged and cell.error is None


def _sound(cell: Result) -> bool:
    """Every increment is in the value or known to be lost; no node's own count differs."""
    return cell.value + cell.lost == cell.increments_sum and cell.exact is not False


def _held(
    threshold: Threshold,
    experiment: Experiment,
    results: Sequence[Result],
    rows: Sequence[Simulated],
) -> list[Bar]:
    """A bar for each bound, of the worst of the cells that a threshold selects."""
    cells: Sequence[Result | Simulated] = [cell for cell in results if _selects(threshold, cell)]
    part = _part(threshold, experiment, len(cells))
    if not cells and threshold.figure in simulated.FIGURES:
        cells = [row for row in rows if _selects(threshold, row)]
        part = "; ".join(dict.fromkeys(row.label for row in rows if row in cells))
    values = [getattr(cell, threshold.figure) for cell in cells]
    known = [float(value) for value in values if value is not None]
    bounds = (
        (threshold.most, "<=", max(known, default=0.0), operator.le),
        (threshold.least, ">=", min(known, default=0.0), operator.ge),
    )
    bars = []
    for bound, sign, worst, holds in bounds:
        if bound is not None:
            value: str | None = None
            ok: bool | None = None
            if cells:
                complete = len(known) == len(values)
                value = _shown(threshold.figure, worst) if complete else "not reached"
                ok = complete and holds(worst, bound)
            name, held_to = _name(threshold, part), f"{sign} {_shown(threshold.figure, bound)}"
            bars.append(Bar(name=name, value=value, bar=held_to, ok=ok))
    return bars


def _selects(threshold: Threshold, cell: Result | Simulated) -> bool:
    return threshold.selects(cell.nodes, cell.overlay, cell.synchronization)


def _part(threshold: Threshold, experiment: Experiment, run: int) -> str:
    """Which part of the cells that a threshold selects was run; nothing where all or none were."""
    wanted = sum(
        threshold.selects(point.nodes, point.overlay.name, point.synchronization)
        for point in experiment.points()
    )
    return f"{run} of {wanted} cells" if 0 < run < wanted else ""


def _name(threshold: Threshold, part: str) -> str:
    where = [
        word
        for word in (
            threshold.overlay,
            threshold.synchronization,
            threshold.nodes and f"{threshold.nodes:,} nodes",
            part,
        )
        if word
    ]
    return f"{threshold.figure} ({', '.join(where) or 'all cells'})"


def _shown(figure: str, value: float) -> str:
    """A figure in the unit in which people compare it."""
    if figure.startswith("bytes"):
        return f"{value / GIB:.4g} GiB"
    if figure.startswith("memory"):
        return f"{value / MIB:.4g} MiB"
    return f"{value:.4g}"
