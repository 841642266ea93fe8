"""From scenarios to bars, a table and a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from rich.table import Table

from scale_tests.measure.bars import Bar
from scale_tests.measure.kwok.experiment import Cell, peak_mib, scenario_of
from scale_tests.measure.pictures import BLUE, GREY, ORANGE, STYLE, VERMILION, save

MOST_BEYOND_LIMITS = 1.1
"""How many times what the rate limits allow applying to Ready may take, in one large cluster."""

MOST_STARTUP_SECONDS = 5.0
"""Kubernetes' own objective for the start of a pod, at its 99th percentile."""


def pods_of(cell: Cell) -> int:
    """All pods of a scenario."""
    return int(cell["clusters"] * cell["pods"])


def beyond_limits(cell: Cell) -> float:
    """From applying to the last cluster's Ready, over what the rate limits allow."""
    return float(cell["ready_seconds"][-1] / cell["startup"]["allowed_seconds"])


def calls_per_second(cell: Cell) -> float:
    """The operator's requests to the API server at rest."""
    return float(sum(cell["at_rest"]["calls"].values()) / cell["at_rest"]["seconds"])


def cpu_percent(cell: Cell) -> float:
    """The operator's share of one core at rest."""
    return float(100 * cell["at_rest"]["cpu_seconds"] / cell["at_rest"]["seconds"])


def bars(cells: Sequence[Cell]) -> list[Bar]:
    """What is asked of the start of pods."""
    found = []
    for cell in cells:
        title, p99 = scenario_of(cell).title, cell["startup"]["p99_seconds"]
        found.append(
            Bar(
                name=f"{title}: p99 of a pod's start, s",
                value=p99,
                bar=f"<= {MOST_STARTUP_SECONDS:g}",
                ok=p99 is not None and p99 <= MOST_STARTUP_SECONDS,
            )
        )
    singles = [cell for cell in cells if cell["clusters"] == 1]
    largest = max(singles, key=pods_of, default=None)
    if largest is not None:
        found.append(
            Bar(
                name=f"{scenario_of(largest).title}: apply to Ready over what rate limits allow",
                value=round(beyond_limits(largest), 3),
                bar=f"<= {MOST_BEYOND_LIMITS:g}",
                ok=beyond_limits(largest) <= MOST_BEYOND_LIMITS,
            )
        )
    return found


def table(cells: Sequence[Cell]) -> Table:
    """The scenarios as a table for the terminal, a row each."""
    shown = Table(
        title=(
            "One control plane with simulated pods (KWOK): no pod runs, a stand-in answers for it;"
            "\ncontrollers at Kubernetes' own rate limits"
        ),
        title_justify="left",
    )
    shown.add_column("")
    columns: dict[str, Callable[[Cell], str]] = {
        "apply to Ready, s": lambda cell: f"{cell['ready_seconds'][-1]:.1f}",
        "limits allow, s": lambda cell: f"{cell['startup']['allowed_seconds']:.1f}",
        "pod's start p50, p99, s": lambda cell: (
            f"{cell['startup']['p50_seconds']}, {cell['startup']['p99_seconds']}"
        ),
        "operator: CPU forming, s": lambda cell: f"{cell['forming']['cpu_seconds']:.1f}",
        "at rest, % of a core": lambda cell: f"{cpu_percent(cell):.1f}",
        "calls/s": lambda cell: f"{calls_per_second(cell):.2f}",
        "peak MiB": lambda cell: f"{peak_mib(cell):.0f}",
    }
    for name in columns:
        shown.add_column(name, justify="right")
    for cell in cells:
        shown.add_row(scenario_of(cell).title, *(figure(cell) for figure in columns.values()))
    return shown


def draw(cells: Sequence[Cell], directory: Path) -> list[Path]:
    """Draws time to Ready, and the operator's cost, against the number of pods; the files."""
    if not cells:
        return []
    ordered = sorted(cells, key=pods_of)
    pods = [pods_of(cell) for cell in ordered]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(13, 4), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        left.plot(pods, [c["ready_seconds"][-1] for c in ordered], "o-", color=BLUE, label="Ready")
        left.plot(
            pods,
            [cell["startup"]["allowed_seconds"] for cell in ordered],
            "--",
            color=GREY,
            label="rate limits allow",
        )
        left.set_ylabel("seconds from apply")
        left.legend()
        middle.plot(pods, [cpu_percent(cell) for cell in ordered], "o-", color=ORANGE)
        middle.set_ylabel("operator at rest, % of one core")
        right.plot(pods, [peak_mib(cell) for cell in ordered], "o-", color=VERMILION)
        right.set_ylabel("operator's peak memory, MiB")
        for axes in (left, middle, right):
            axes.set_xlabel("pods (simulated)")
            axes.set_ylim(bottom=0)
        figure.suptitle(
            "One control plane with simulated pods", x=0.01, ha="left", fontweight="bold"
        )
        return save(figure, directory, "bench-control-plane")
