"""From scenarios to bars, a table and a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from rich.table import Table

from scale_tests.measure.bars import Bar
from scale_tests.measure.kwok.experiment import Cell, peak_mib, scenario_of
from scale_tests.measure.pictures import BLUE, STYLE, VERMILION, save

MOST_MEMORY_MIB = 250
MOST_RECONCILE_SECONDS = 1.0
MOST_LISTS = 1

CHILDREN = (
    "statefulsets",
    "services",
    "configmaps",
    "poddisruptionbudgets",
    "networkpolicies",
    "podmonitors",
    "endpointslices",
)
"""The kinds whose lists are held to a bar: children, and what publishes their pods."""


def most_lists(cell: Cell) -> int:
    """The most lists of one kind, for one cluster, within a resync interval at rest."""
    found: dict[str, int] = cell["at_rest"]["most_lists"]
    return max((found.get(kind, 0) for kind in CHILDREN), default=0)


def bars(cells: Sequence[Cell]) -> list[Bar]:
    """What is asked of each scenario."""
    return [bar for cell in cells for bar in _bars(cell)]


def _bars(cell: Cell) -> list[Bar]:
    title = scenario_of(cell).title
    reconciles = cell["storm"]["reconciles"]
    ready, count = cell["clusters_ready_at_end"], scenario_of(cell).clusters
    return [
        Bar(
            name=f"{title}: clusters that are ready when all is over",
            value=ready,
            bar=f"= {count}",
            ok=ready == count,
        ),
        Bar(
            name=f"{title}: writes at rest",
            value=cell["at_rest"]["writes"],
            bar="= 0",
            ok=cell["at_rest"]["writes"] == 0,
        ),
        Bar(
            name=f"{title}: lists of a kind of child, per cluster and resync, at rest",
            value=most_lists(cell),
            bar=f"<= {MOST_LISTS}",
            ok=most_lists(cell) <= MOST_LISTS,
        ),
        Bar(
            name=f"{title}: the operator's memory at its peak, MiB",
            value=round(peak_mib(cell), 1),
            bar=f"< {MOST_MEMORY_MIB}",
            ok=peak_mib(cell) < MOST_MEMORY_MIB,
        ),
        *(
            Bar(
                name=f"{title}: p99 of a reconcile {when}, s",
                value=cell[phase]["reconcile_p99"],
                bar=f"< {MOST_RECONCILE_SECONDS:g}",
                ok=(p99 := cell[phase]["reconcile_p99"]) is not None
                and p99 < MOST_RECONCILE_SECONDS,
            )
            for phase, when in (("at_rest", "at rest"), ("in_all", "from first to last"))
        ),
        Bar(
            name=f"{title}: reconciles in a storm of {cell['storm_changes']} changes of pods",
            value=reconciles,
            bar=f"<= {cell['storm_bound']}, four a second and cluster",
            ok=reconciles <= cell["storm_bound"],
        ),
    ]


def table(cells: Sequence[Cell]) -> Table:
    """The scenarios as a table for the terminal, a column each."""
    shown = Table(
        title="The operator with simulated pods (KWOK): no pod runs, a stand-in answers for it",
        title_justify="left",
    )
    shown.add_column("")
    for cell in cells:
        shown.add_column(scenario_of(cell).title, justify="right")

    def row(name: str, figure: Callable[[Cell], str]) -> None:
        shown.add_row(name, *map(figure, cells))

    row("apply to Ready, s: median, last", _ready)
    row("memory at its peak, MiB", lambda cell: f"{peak_mib(cell):.1f}")
    for phase, title in (("forming", "forming"), ("at_rest", "at rest"), ("storm", "storm")):
        row(f"{title}: seconds", _figure(phase, "seconds", ".0f"))
        row(f"{title}: % of the time on a processor, waiting for one", _cpu(phase))
        row(f"{title}: reconciles", _figure(phase, "reconciles", "d"))
        row(f"{title}: reconcile p50, p99, s", _reconcile(phase))
        row(f"{title}: writes", _figure(phase, "writes", "d"))
        row(f"{title}: API calls by verb", _calls(phase))
    row("at rest: lists of a kind per cluster and resync", lambda cell: str(most_lists(cell)))
    row("storm: reconciles at most", lambda cell: str(cell["storm_bound"]))
    return shown


def draw(cells: Sequence[Cell], directory: Path) -> list[Path]:
    """Draws memory and processor time against time, a column for each scenario; the files."""
    if not cells:
        return []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5 * len(cells), 6), layout="constrained")
        columns = figure.subplots(2, len(cells), squeeze=False, sharex="col").T
        for cell, (upper, lower) in zip(cells, columns, strict=True):
            seconds = [sample["second"] for sample in cell["samples"]]
            upper.plot(seconds, [sample["ready"] for sample in cell["samples"]], color=BLUE)
            upper.set_title(scenario_of(cell).title, loc="left", fontsize="medium")
            upper.set_ylabel("pods ready (simulated)")
            lower.plot(seconds, [s["memory_mib"] for s in cell["samples"]], color=VERMILION)
            lower.axhline(MOST_MEMORY_MIB, color=VERMILION, linestyle=":")
            lower.set_ylim(bottom=0)
            lower.set_ylabel("operator's memory, MiB")
            lower.set_xlabel("seconds")
        figure.suptitle("The operator with simulated pods", x=0.01, ha="left", fontweight="bold")
        return save(figure, directory, "bench-operator")


def _ready(cell: Cell) -> str:
    seconds: list[float] = cell["ready_seconds"]
    return f"{median(seconds):.1f}, {seconds[-1]:.1f}"


def _figure(phase: str, key: str, form: str) -> Callable[[Cell], str]:
    return lambda cell: format(cell[phase][key], form)


def _cpu(phase: str) -> Callable[[Cell], str]:
    def text(cell: Cell) -> str:
        found: dict[str, Any] = cell[phase]
        shares = (found["cpu_seconds"], found["waited_seconds"])
        return ", ".join(f"{100 * share / found['seconds']:.0f}" for share in shares)

    return text


def _reconcile(phase: str) -> Callable[[Cell], str]:
    def text(cell: Cell) -> str:
        found: dict[str, Any] = cell[phase]
        quantiles = (found["reconcile_p50"], found["reconcile_p99"])
        return ", ".join("over 10" if value is None else f"{value:.2f}" for value in quantiles)

    return text


def _calls(phase: str) -> Callable[[Cell], str]:
    return lambda cell: ", ".join(f"{verb} {n}" for verb, n in cell[phase]["calls"].items()) or "-"
