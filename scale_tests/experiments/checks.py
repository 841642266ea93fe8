"""What an experiment's cells are held to."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from scale_tests.experiments.parts import Threshold
from scale_tests.experiments.result import Result
from scale_tests.results.bars import Bar
from scale_tests.results.units import GIB, MIB


def bars(results: Sequence[Result], thresholds: Sequence[Threshold]) -> list[Bar]:
    """The claims on all cells, then the thresholds that speak of a cell which was run."""
    return [
        _all("cells that came to their end with equal counters everywhere", results, _converged),
        _all("cells in which every increment counts once, or is known to be lost", results, _sound),
        _all("cells whose deletion left nothing", results, lambda cell: not cell.left),
        *(bar for threshold in thresholds for bar in _held(threshold, results)),
    ]


def _all(name: str, results: Sequence[Result], holds: Callable[[Result], bool]) -> Bar:
    good = sum(holds(cell) for cell in results)
    return Bar(name=name, value=good, bar=f"= {len(results)}", ok=good == len(results))


def _converged(cell: Result) -> bool:
    return cell.converged and cell.error is None


def _sound(cell: Result) -> bool:
    """Every increment is in the value or known to be lost; no node's own count differs."""
    return cell.value + cell.lost == cell.increments_sum and cell.exact is not False


def _held(threshold: Threshold, results: Sequence[Result]) -> list[Bar]:
    """One bar for the worst of the cells that a threshold selects; none where there is no such."""
    selected = [cell for cell in results if _selects(threshold, cell)]
    if not selected:
        return []
    values = [getattr(cell, threshold.figure) for cell in selected]
    known = [float(value) for value in values if value is not None]
    complete = len(known) == len(values)
    bounds = (
        (threshold.most, "<=", max(known, default=0.0), operator.le),
        (threshold.least, ">=", min(known, default=0.0), operator.ge),
    )
    return [
        Bar(
            name=_name(threshold),
            value=_shown(threshold.figure, worst) if complete else "not reached",
            bar=f"{sign} {_shown(threshold.figure, bound)}",
            ok=complete and holds(worst, bound),
        )
        for bound, sign, worst, holds in bounds
        if bound is not None
    ]


def _selects(threshold: Threshold, cell: Result) -> bool:
    return (
        threshold.nodes in (None, cell.nodes)
        and threshold.overlay in (None, cell.overlay)
        and threshold.synchronization in (None, cell.synchronization)
    )


def _name(threshold: Threshold) -> str:
    where = [
        part
        for part in (
            threshold.overlay,
            threshold.synchronization,
            threshold.nodes and f"{threshold.nodes:,} nodes",
        )
        if part
    ]
    return f"{threshold.figure} ({', '.join(where) or 'all cells'})"


def _shown(figure: str, value: float) -> str:
    """A figure in the unit in which people compare it."""
    if figure.startswith("bytes"):
        return f"{value / GIB:.4g} GiB"
    if figure.startswith("memory"):
        return f"{value / MIB:.4g} MiB"
    return f"{value:.4g}"
