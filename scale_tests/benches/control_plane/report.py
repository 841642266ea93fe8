"""From scenarios to checks, a table and a picture."""

from collections.abc import Callable, Sequence
from math import inf

from matplotlib.figure import Figure

from scale_tests.measure.checks import Check, at_most
from scale_tests.measure.drawing import BLUE, GREY, ORANGE, VERMILION, Picture, panels
from scale_tests.measure.kwok.experiment import peak_mib, scenario_of
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell, having
from scale_tests.measure.tables import tabulated

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
        name = f"{scenario_of(cell).title}: p99 of a pod's start, s"
        # Without a pod that has started the target is missed.
        value = inf if p99 is None else p99
        found.append(at_most(name, value, MOST_STARTUP_SECONDS, shown="-" if p99 is None else p99))
    if singles := having(cells, clusters=1):
        largest = max(singles, key=pods_of)
        times = largest["ready_seconds"][-1] / largest["startup"]["allowed_seconds"]
        name = f"{scenario_of(largest).title}: apply to Ready over what rate limits allow"
        found.append(at_most(name, times, MOST_BEYOND_LIMITS, shown=round(times, 3)))
    return found


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """The scenarios, a row each."""
    note = "No pod runs: a stand-in answers for it. Controllers have Kubernetes' own rate limits."
    return {"One control plane with simulated pods (KWOK)": tabulated(COLUMNS, cells, note)}


def _plot(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Time to Ready, and the operator's cost, against the number of pods."""
    ordered = sorted(cells, key=pods_of)
    pods = [pods_of(cell) for cell in ordered]
    left, middle, right = panels(figure, 3)
    left.plot(pods, [c["ready_seconds"][-1] for c in ordered], "o-", color=BLUE, label="Ready")
    allowed = [cell["startup"]["allowed_seconds"] for cell in ordered]
    left.plot(pods, allowed, "--", color=GREY, label="rate limits allow")
    left.legend()
    middle.plot(pods, [cpu_percent(cell) for cell in ordered], "o-", color=ORANGE)
    right.plot(pods, [peak_mib(cell) for cell in ordered], "o-", color=VERMILION)
    labels = ("seconds from apply", "operator at rest, % of a core", "operator's peak memory, MiB")
    for axes, label in zip((left, middle, right), labels, strict=True):
        axes.set(xlabel="pods (simulated)", ylabel=label, ylim=(0, None))
    return bool(cells)


_TITLE = "One control plane with simulated pods"
PICTURE = Picture(name="bench-control-plane", title=_TITLE, plot=_plot, size=(13, 4))
