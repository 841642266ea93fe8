"""From scenarios to checks, a table and a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from scale_tests.measure.checks import Check, at_most
from scale_tests.measure.drawing import BLUE, GREY, ORANGE, VERMILION, Picture, panels
from scale_tests.measure.kwok.experiment import Cell, peak_mib, scenario_of
from scale_tests.measure.page import Table

MOST_BEYOND_LIMITS = 1.1
"""From apply to Ready in one large cluster: a multiple of the least time at the rate limits."""

MOST_STARTUP_SECONDS = 5.0
"""Kubernetes' own objective for the start of a pod, at its 99th percentile."""

COLUMNS: dict[str, Callable[[Cell], str]] = {
    "": lambda cell: scenario_of(cell).title,
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


def pods_of(cell: Cell) -> int:
    """All pods of a scenario."""
    return int(cell["clusters"] * cell["pods"])


def beyond_limits(cell: Cell) -> float:
    """Time from applying to the last cluster's Ready, over the least time at the rate limits."""
    return float(cell["ready_seconds"][-1] / cell["startup"]["allowed_seconds"])


def calls_per_second(cell: Cell) -> float:
    """The operator's requests to the API server at rest."""
    return float(sum(cell["at_rest"]["calls"].values()) / cell["at_rest"]["seconds"])


def cpu_percent(cell: Cell) -> float:
    """The operator's share of one core at rest."""
    return float(100 * cell["at_rest"]["cpu_seconds"] / cell["at_rest"]["seconds"])


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets of each scenario, and of the largest cluster."""
    found = []
    for cell in cells:
        p99 = cell["startup"]["p99_seconds"]
        found.append(
            Check(
                name=f"{scenario_of(cell).title}: p99 of a pod's start, s",
                value=p99,
                bar=f"<= {MOST_STARTUP_SECONDS:g}",
                ok=p99 is not None and p99 <= MOST_STARTUP_SECONDS,
            )
        )
    singles = [cell for cell in cells if cell["clusters"] == 1]
    if singles:
        largest = max(singles, key=pods_of)
        found.append(
            at_most(
                f"{scenario_of(largest).title}: apply to Ready over what rate limits allow",
                beyond_limits(largest),
                MOST_BEYOND_LIMITS,
                shown=round(beyond_limits(largest), 3),
            )
        )
    return found


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """The scenarios, a row each."""
    table = Table(
        head=[*COLUMNS],
        rows=[[figure(cell) for figure in COLUMNS.values()] for cell in cells],
        caption=(
            "No pod runs: a stand-in answers for it. Controllers have Kubernetes' own rate limits."
        ),
    )
    return {"One control plane with simulated pods (KWOK)": table}


def _plot(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Time to Ready, and the operator's cost, against the number of pods."""
    ordered = sorted(cells, key=pods_of)
    pods = [pods_of(cell) for cell in ordered]
    left, middle, right = panels(figure, 3)
    left.plot(pods, [c["ready_seconds"][-1] for c in ordered], "o-", color=BLUE, label="Ready")
    allowed = [cell["startup"]["allowed_seconds"] for cell in ordered]
    left.plot(pods, allowed, "--", color=GREY, label="rate limits allow")
    left.set_ylabel("seconds from apply")
    left.legend()
    middle.plot(pods, [cpu_percent(cell) for cell in ordered], "o-", color=ORANGE)
    middle.set_ylabel("operator at rest, % of one core")
    right.plot(pods, [peak_mib(cell) for cell in ordered], "o-", color=VERMILION)
    right.set_ylabel("operator's peak memory, MiB")
    for axes in (left, middle, right):
        axes.set_xlabel("pods (simulated)")
        axes.set_ylim(bottom=0)
    return bool(cells)


PICTURE = Picture(
    name="bench-control-plane",
    title="One control plane with simulated pods",
    plot=_plot,
    size=(13, 4),
)
