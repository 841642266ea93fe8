"""Simulated faults: kills, churn, a partition; the effects on the overlay and the ad counter.

The cells have the fault instead of the overlay. No paper reports the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scale_tests.host.documents import data_of
from scale_tests.measure.checks import Check, every
from scale_tests.measure.figure import Cell, grouped
from scale_tests.measure.page import Picture, Section
from scale_tests.measure.tables import forms, tabulated

OVERLAY = "churn"
"""The experiment of the overlay's figures."""

COUNTERS = {"churn_counter_delta": "Delta", "churn_counter_tree": "Tree"}
"""Of what was counted, with the synchronization."""

_DATA = data_of(__file__)
NAMES = _DATA["names"]

PICTURES = ("churn_reach", "churn_behind")
"""The pictures of faults: survivors that are connected, and how far replicas are behind."""


def faults(figures: Iterable[Cell], experiment: str) -> list[dict[str, Any]]:
    """The faults that an experiment has simulated: their figures, by the simulator's names."""
    order = list(NAMES)
    return [
        {"fault": NAMES[name], "nodes": nodes, "mode": COUNTERS.get(experiment), **values}
        for (name, nodes), values in sorted(
            grouped(figures, experiment).items(),
            key=lambda item: (order.index(item[0][0]), item[0][1]),
        )
    ]


def checks(figures: Sequence[Cell]) -> list[Check]:
    """One component again, and an exact account, after every fault that was simulated."""
    whole = "faults after which all nodes were one component again (simulated)"
    claims = {whole: ["one_component" in fault for fault in faults(figures, OVERLAY)]}
    for experiment, mode in COUNTERS.items():
        counted = [fault for fault in faults(figures, experiment) if "increments" in fault]
        name = f"{mode.lower()}: faults after which value + lost = increments (simulated)"
        claims[name] = [f["value"] + f["lost"] == f["increments"] for f in counted]
    return [every(name, held) for name, held in claims.items() if held]


def section(figures: Sequence[Cell], drawn: Mapping[str, Picture]) -> Section:
    """The part of a page that is about faults; empty where none was simulated."""
    simulated = {
        "overlay": faults(figures, OVERLAY),
        "counter": [fault for name in COUNTERS for fault in faults(figures, name)],
    }
    tables = [
        tabulated(forms(_DATA[name], missing=""), found, _DATA[f"{name}_note"])
        for name, found in simulated.items()
        if found
    ]
    shown = [drawn[name] for name in PICTURES if name in drawn]
    return Section(title="Faults", parts=[*tables, *shown] if tables else [])
