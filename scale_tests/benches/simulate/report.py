"""The result of a run: cells with the papers' values, checks, tables, and the document."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from scale_tests.benches.simulate import curves, faults, published, ring
from scale_tests.benches.simulate.plan import PAPER_NODES
from scale_tests.benches.simulate.runner import Outcome
from scale_tests.host.documents import data_of
from scale_tests.measure import synchronization
from scale_tests.measure.checks import Check
from scale_tests.measure.figure import Cell
from scale_tests.measure.page import Table
from scale_tests.measure.tables import forms, tabulated

HOLDS = {">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}

_DATA = data_of(__file__)
TARGETS, NOT_SIMULATED = _DATA["targets"], _DATA["not_simulated"]


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
            "a large ring": ring.table(figures),
            "the overlays compared": curves.comparison(figures),
            "what it took": took(self.meta()["seconds"]),
        }
        return {f"simulated: {title}": table for title, table in found.items() if table.rows}


def checks(figures: Sequence[Cell], times: Sequence[Mapping[str, Any]]) -> list[Check]:
    """The targets of a run's figures and of the times that its experiments took."""
    values = {(c.experiment, c.overlay, c.parameter): c.value for c in reversed(figures)}
    found: list[Check] = []

    def check(name: str, value: float, target: str, *, ok: bool) -> None:
        found.append(Check(name=name, value=round(value, 4), bar=target, ok=ok))

    def ratio(parameter: str, overlay: str, to: str) -> float | None:
        ours, theirs = (values.get(("shape", each, parameter)) for each in (overlay, to))
        return None if ours is None or theirs is None else ours / theirs

    for name, experiment, overlay, parameter, sign, limit in TARGETS:
        value = values.get((experiment, overlay, parameter))
        if value is not None:
            target = f"{sign} {limit}".removeprefix("= ")
            check(name, value, target, ok=HOLDS[sign](value, limit))
    kept = ratio("mean_degree", "xbot", "hyparview_on_a_plane")
    if kept is not None:
        check("X-BOT: mean degree kept", kept, "within 1 %", ok=abs(kept - 1) < 0.01)
    stretch = ratio("shortest_path", "hyparview_burst", "hyparview")
    if stretch is not None:
        name = "HyParView joined in a burst: shortest path, to that of a calm formation"
        check(name, stretch, "< 1.1", ok=stretch < 1.1)
    for each in times:
        if (each["experiment"], each["nodes"]) == ("hyparview", PAPER_NODES):
            name = "CPU seconds for HyParView's experiment at 10,000 nodes"
            check(name, each["cpu_seconds"], "< 120", ok=each["cpu_seconds"] < 120)
    return [
        *found,
        *curves.checks(curves.rows(figures)),
        *synchronization.checks(synchronization.rows(figures)),
        *faults.checks(figures),
        *ring.checks(figures),
    ]


def took(times: Sequence[Mapping[str, Any]]) -> Table:
    """The processor time of each experiment."""
    return tabulated(forms(_DATA["took"]), times)


def _compared(figures: Sequence[Cell]) -> Table:
    """Our values with the papers', and why they differ. Points of pictures are left out."""
    has_own = (synchronization.EXPERIMENT, curves.EXPERIMENT, curves.COMPARED, ring.EXPERIMENT)
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
