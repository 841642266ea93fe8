"""The result of a run: cells with the papers' values, checks, tables, and the document."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from scale_tests.benches.simulate import curves, faults, published
from scale_tests.benches.simulate.runner import Outcome
from scale_tests.host.documents import data_of
from scale_tests.measure import synchronization
from scale_tests.measure.checks import Check
from scale_tests.measure.figure import Cell
from scale_tests.measure.page import Table
from scale_tests.measure.tables import forms, tabulated

HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
    "within": lambda ratio, share: abs(ratio - 1) < share,
}

_DATA = data_of(__file__)
NOT_SIMULATED = _DATA["not_simulated"]


@dataclass(frozen=True)
class Report:
    """The outcomes of a run, in order."""

    outcomes: Sequence[Outcome]

    @cached_property
    def figures(self) -> list[Cell]:
        """All figures in order, with the papers' values."""
        return [
            published.compared(measured, outcome.job.seed)
            for outcome in self.outcomes
            for measured in outcome.cells
        ]

    def cells(self) -> list[dict[str, Any]]:
        """The figures as the document has them."""
        return [asdict(figure) for figure in self.figures]

    def meta(self) -> dict[str, Any]:
        """The circumstances of the run, for the document."""
        jobs = [asdict(outcome.job) for outcome in self.outcomes]
        took = [
            {
                "experiment": outcome.job.experiment,
                "nodes": outcome.job.nodes,
                "seconds": outcome.seconds,
                "cpu_seconds": outcome.cpu_seconds,
            }
            for outcome in self.outcomes
        ]
        return {"config": jobs, "seed": jobs[0]["seed"], "simulated": True, "seconds": took}

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets."""
        return checks(self.figures, self.meta()["seconds"])

    def tables(self, _cells: Sequence[Any]) -> dict[str, Table]:
        """The papers' figures and ours, and what all of it took."""
        figures = self.figures
        found = {
            "the papers' experiments": _compared(figures),
            "transmission of the ad counter, GiB": synchronization.table(
                synchronization.rows(figures)
            ),
            "the overlay against its size": curves.table(curves.rows(figures)),
            "a large ring": curves.ring(figures),
            "the overlays compared": curves.comparison(figures),
            "what it took": took(self.meta()["seconds"]),
        }
        return {f"simulated: {title}": table for title, table in found.items() if table.rows}


def checks(figures: Sequence[Cell], times: Sequence[Mapping[str, Any]]) -> list[Check]:
    """The targets of a run's figures and of the times that its experiments took."""
    values = {(c.experiment, c.overlay, c.parameter): c.value for c in reversed(figures)}
    for figure, overlay, to in _DATA["ratios"]:
        ours, theirs = (values.get(("shape", each, figure)) for each in (overlay, to))
        if ours is not None and theirs is not None:
            values["ratio", overlay, figure] = ours / theirs
    for each in times:
        values["cpu_seconds", each["experiment"], each["nodes"]] = each["cpu_seconds"]
    found = []
    for name, *figure, sign, limit in _DATA["targets"]:
        value = values.get(tuple(figure))
        if value is not None:
            shown = f"{100 * limit:g} %" if sign == "within" else limit
            target = f"{sign} {shown}".removeprefix("= ")
            ok = HOLDS[sign](value, limit)
            found.append(Check(name=name, value=round(value, 4), bar=target, ok=ok))
    return [
        *found,
        *curves.checks(curves.rows(figures)),
        *synchronization.checks(synchronization.rows(figures)),
        *faults.checks(figures),
        *curves.ring_checks(figures),
    ]


def took(times: Sequence[Mapping[str, Any]]) -> Table:
    """The processor time of each experiment."""
    return tabulated(forms(_DATA["took"]), times)


def _compared(figures: Sequence[Cell]) -> Table:
    """Our values with the papers', and why they differ. Points of pictures are left out."""
    has_own = (synchronization.EXPERIMENT, curves.EXPERIMENT, curves.COMPARED, curves.RING)
    why = (f"* {c.experiment}, {c.overlay}: {c.explanation}" for c in figures if c.explanation)
    return tabulated(
        (
            ("experiment", lambda c: c.experiment.replace("_", " ")),
            ("overlay", lambda c: c.overlay),
            ("nodes", lambda c: f"{c.nodes:,}"),
            ("parameter", lambda c: str(c.parameter)),
            ("ours", lambda c: _number(c.value)),
            ("paper", lambda c: "" if c.paper_value is None else _number(c.paper_value)),
            ("", lambda c: "*" if c.explanation else ""),
        ),
        [
            cell
            for cell in sorted(figures, key=lambda cell: cell.experiment)
            if cell.experiment not in has_own
            and (isinstance(cell.parameter, str) or cell.paper_value is not None)
        ],
        "\n".join(dict.fromkeys(why)),
    )


def _number(value: float) -> str:
    """A figure with its significant digits."""
    is_whole = value == int(value) or abs(value) >= 1000
    return f"{value:,.0f}" if is_whole else f"{value:.4g}"
