"""The result of a run: cells with the papers' values beside ours, as JSON and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from scale_tests.benches.simulate import churn, curves, published
from scale_tests.benches.simulate.plan import PAPER_NODES, Job
from scale_tests.benches.simulate.runner import Outcome
from scale_tests.measure import document as documents
from scale_tests.measure import synchronization
from scale_tests.measure.bars import Bar
from scale_tests.measure.figure import Cell, Measured

CURVES = (
    churn.BEHIND,
    churn.REACH,
    "in_degree",
    "last_delivery_hop",
    "link_cost",
    "recovery",
    "relative_message_redundancy",
    "view_size_distribution",
)
"""Experiments whose cells with numbers as parameters are points of a picture, not of a table."""


def cells(outcomes: Iterable[Outcome]) -> list[Cell]:
    """All that was measured, in order, with the papers' values."""
    return [_cell(measured) for outcome in outcomes for measured in outcome.cells]


def _cell(measured: Measured) -> Cell:
    value = published.paper_value(measured.experiment, measured.overlay, measured.parameter)
    return Cell(
        **asdict(measured),
        paper_value=value,
        explanation=None
        if value is None
        else published.explanation(
            measured.experiment,
            measured.overlay,
            measured.value,
            value,
            other_size=measured.nodes != PAPER_NODES,
        ),
    )


def find(
    figures: Sequence[Cell], experiment: str, overlay: str, parameter: str | float
) -> float | None:
    """The value of one cell, if it was measured."""
    wanted = (experiment, overlay, parameter)
    values = [c.value for c in figures if (c.experiment, c.overlay, c.parameter) == wanted]
    return values[0] if values else None


def bars(figures: Sequence[Cell], outcomes: Sequence[Outcome]) -> list[Bar]:
    """What a run is held to, of what it measured."""
    held: list[Bar] = []

    def hold(name: str, value: float | None, bar: str, *, ok: bool) -> None:
        if value is not None:
            held.append(Bar(name=name, value=round(value, 4), bar=bar, ok=ok))

    def at(experiment: str, overlay: str, parameter: str | float) -> float | None:
        return find(figures, experiment, overlay, parameter)

    for failures, least in ((50, 99.0), (80, 98.0), (90, 95.0)):
        value = at("reliability", "hyparview", failures)
        name = f"HyParView: reliability after {failures} % failures"
        hold(name, value, f">= {least}", ok=value is not None and value >= least)
    value = at("shape", "hyparview", "components")
    hold("HyParView: components", value, "1", ok=value == 1)
    value = at("relative_message_redundancy", "plumtree", "steady")
    hold("Plumtree: RMR in the end", value, "< 0.1", ok=value is not None and value < 0.1)
    value = at("steady_failures", "plumtree", "reliability")
    hold("Plumtree: reliability under failures", value, ">= 99.9", ok=(value or 0) >= 99.9)
    value = at("link_cost_reduction", "xbot", "percent")
    hold("X-BOT: link cost saved, %", value, "> 25", ok=value is not None and value > 25)
    value = at("shape", "xbot", "components")
    hold("X-BOT: components", value, "1", ok=value == 1)
    before = at("shape", "hyparview_on_a_plane", "mean_degree")
    after = at("shape", "xbot", "mean_degree")
    if before is not None and after is not None:
        kept = after / before
        hold("X-BOT: mean degree kept", kept, "within 1 %", ok=abs(kept - 1) < 0.01)
    calm = at("shape", "hyparview", "shortest_path")
    burst = at("shape", "hyparview_burst", "shortest_path")
    if calm is not None and burst is not None:
        stretch = burst / calm
        name = "HyParView joined in a burst: shortest path, to that of a calm formation"
        hold(name, stretch, "< 1.1", ok=stretch < 1.1)
    value = at("shape", "hyparview_burst", "components")
    hold("HyParView joined in a burst: components", value, "1", ok=value == 1)
    for outcome in outcomes:
        if outcome.job.experiment == "hyparview" and outcome.job.nodes == PAPER_NODES:
            name = "CPU seconds for HyParView's experiment at 10,000 nodes"
            hold(name, outcome.cpu_seconds, "< 120", ok=outcome.cpu_seconds < 120)
    return [
        *held,
        *curves.bars(curves.rows(figures)),
        *synchronization.bars(synchronization.rows(figures)),
        *churn.bars(figures),
    ]


def document(
    figures: Sequence[Cell],
    outcomes: Sequence[Outcome],
    held: Sequence[Bar],
    *,
    versions: Mapping[str, str],
    quick: bool,
    started: datetime,
) -> dict[str, Any]:
    """What `simulate.json` holds."""
    return documents.document(
        "simulate",
        started=started,
        versions=versions,
        cells=[asdict(cell) for cell in figures],
        bars=held,
        config=[asdict(outcome.job) for outcome in outcomes],
        seed=outcomes[0].job.seed,
        quick=quick,
        simulated=True,
        seconds=[
            {
                "experiment": outcome.job.experiment,
                "nodes": outcome.job.nodes,
                "seconds": outcome.seconds,
                "cpu_seconds": outcome.cpu_seconds,
            }
            for outcome in outcomes
        ],
    )


def show(console: Console, figures: Sequence[Cell], outcomes: Sequence[Outcome]) -> None:
    """Prints the tables."""
    tabled = [
        c
        for c in figures
        if c.experiment not in (synchronization.EXPERIMENT, curves.EXPERIMENT)
        and (isinstance(c.parameter, str) or not c.experiment.startswith(CURVES))
    ]
    for experiment, group in groupby(
        sorted(tabled, key=lambda c: c.experiment), key=lambda c: c.experiment
    ):
        console.print(_table(experiment, list(group)))
    for reason in dict.fromkeys(
        f"{c.experiment}, {c.overlay}: {c.explanation}" for c in tabled if c.explanation
    ):
        console.print(f"* {reason}", style="dim", markup=False)
    transmitted = synchronization.rows(figures)
    if transmitted:
        console.print(synchronization.table(transmitted))
        console.print(f"* {synchronization.NOTE}", style="dim", markup=False)
    grown = curves.rows(figures)
    if grown:
        console.print(curves.table(grown))
        console.print(f"* {curves.NOTE}", style="dim", markup=False)
    took = Table(title="simulated: what it took", title_justify="left")
    for column in ("experiment", "nodes", "seconds", "CPU seconds"):
        took.add_column(column, justify="left" if column == "experiment" else "right")
    for outcome in outcomes:
        job: Job = outcome.job
        took.add_row(
            job.experiment, f"{job.nodes:,}", f"{outcome.seconds:.0f}", f"{outcome.cpu_seconds:.0f}"
        )
    console.print(took)


def _table(experiment: str, figures: Sequence[Cell]) -> Table:
    table = Table(title=f"simulated: {experiment.replace('_', ' ')}", title_justify="left")
    for column in ("overlay", "nodes", "parameter", "ours", "paper", ""):
        justify: Literal["left", "right"] = "left" if column in ("overlay", "") else "right"
        table.add_column(column, justify=justify, no_wrap=True)
    for cell in figures:
        table.add_row(
            cell.overlay,
            f"{cell.nodes:,}",
            str(cell.parameter),
            number(cell.value),
            "" if cell.paper_value is None else number(cell.paper_value),
            "*" if cell.explanation else "",
        )
    return table


def number(value: float) -> str:
    """A figure with as many digits as say something."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
