"""From scenarios to checks, a table and a picture."""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from scale_tests.host.documents import data_of
from scale_tests.measure.checks import Check, at_most, below, equal
from scale_tests.measure.drawing import BLUE, VERMILION, Picture
from scale_tests.measure.kwok.experiment import peak_mib, scenario_of
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell
from scale_tests.measure.tables import forms, transposed

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
"""The kinds whose lists have a target: children, and what publishes their pods."""


_OVER = "over 10"
"""A quantile beyond the last bound of the histogram of reconciles, which misses its target."""


def most_lists(cell: Cell) -> int:
    """The most lists of one kind, for one cluster, within a resync interval at rest."""
    found: dict[str, int] = cell["at_rest"]["most_lists"]
    return max((found.get(kind, 0) for kind in CHILDREN), default=0)


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets of each scenario."""
    found = []
    for cell in cells:
        title, peak, storm = scenario_of(cell).title, peak_mib(cell), cell["storm"]["reconciles"]
        ready = f"{title}: clusters that are ready at the end"
        lists = f"{title}: lists of a kind of child, per cluster and resync, at rest"
        memory = f"{title}: the operator's memory at its peak, MiB"
        reconciles = f"{title}: reconciles in a storm of {cell['storm_changes']} changes of pods"
        found += [
            equal(ready, cell["clusters_ready_at_end"], cell["clusters"]),
            equal(f"{title}: writes at rest", cell["at_rest"]["writes"], 0),
            at_most(lists, most_lists(cell), MOST_LISTS),
            below(memory, peak, MOST_MEMORY_MIB, shown=round(peak, 1)),
            at_most(reconciles, storm, cell["storm_bound"], also="four a second and cluster"),
        ]
        for phase, when in (("at_rest", "at rest"), ("in_all", "from first to last")):
            p99 = cell[phase]["reconcile_p99"]
            name, limit = f"{title}: p99 of a reconcile {when}, s", MOST_RECONCILE_SECONDS
            shown = _OVER if p99 is None else p99
            found.append(below(name, inf if p99 is None else p99, limit, shown=shown))
    return found


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """The scenarios, a column each."""
    figures: dict[str, Callable[[Cell], str]] = {
        "apply to Ready, s: median, last": lambda cell: (
            f"{median(cell['ready_seconds']):.1f}, {cell['ready_seconds'][-1]:.1f}"
        ),
        "memory at its peak, MiB": lambda cell: f"{peak_mib(cell):.1f}",
    }
    for phase in ("forming", "at_rest", "storm"):
        for name, text in forms(data_of(__file__)).items():
            figures[f"{phase.replace('_', ' ')}: {name}"] = partial(_of_phase, phase, text)
    figures["at rest: lists of a kind per cluster and resync"] = lambda c: str(most_lists(c))
    figures["storm: reconciles at most"] = lambda cell: str(cell["storm_bound"])
    by_title = {scenario_of(cell).title: cell for cell in cells}
    table = transposed(figures, by_title, "No pod runs: a stand-in answers for it.")
    return {"The operator with simulated pods (KWOK)": table}


def _of_phase(phase: str, text: Callable[[Cell], str], cell: Cell) -> str:
    found: dict[str, Any] = cell[phase]
    row = {
        **found,
        "on_processor": 100 * found["cpu_seconds"] / found["seconds"],
        "waiting": 100 * found["waited_seconds"] / found["seconds"],
        "by_verb": ", ".join(f"{verb} {calls}" for verb, calls in found["calls"].items()) or "-",
    }
    for quantile in ("p50", "p99"):
        value = found[f"reconcile_{quantile}"]
        row[quantile] = _OVER if value is None else f"{value:.2f}"
    return text(row)


def _plot(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Memory and pods against time, a column for each scenario."""
    figure.set_size_inches(5 * max(1, len(cells)), 6)
    if not cells:
        return False
    columns = figure.subplots(2, len(cells), squeeze=False, sharex="col").T
    for cell, (upper, lower) in zip(cells, columns, strict=True):
        seconds = [sample["second"] for sample in cell["samples"]]
        upper.plot(seconds, [sample["ready"] for sample in cell["samples"]], color=BLUE)
        upper.set_title(scenario_of(cell).title, loc="left", fontsize="medium")
        upper.set_ylabel("pods ready (simulated)")
        lower.plot(seconds, [s["memory_mib"] for s in cell["samples"]], color=VERMILION)
        lower.axhline(MOST_MEMORY_MIB, color=VERMILION, linestyle=":")
        lower.set(xlabel="seconds", ylabel="operator's memory, MiB", ylim=(0, None))
    return True


PICTURE = Picture(name="bench-operator", title="The operator with simulated pods", plot=_plot)
