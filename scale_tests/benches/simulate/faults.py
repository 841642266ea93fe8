"""Simulated faults: kills, churn, a partition; the effects on the overlay and the ad counter.

The cells have the fault instead of the overlay. No paper reports the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from scale_tests.host.documents import data_of
from scale_tests.measure.checks import Check, every
from scale_tests.measure.figure import Cell, grouped
from scale_tests.measure.page import Picture, Section, Table
from scale_tests.measure.tables import Column, tabulated

OVERLAY = "churn"
"""The experiment of the overlay's figures."""

REACH = "churn_reach"
"""Of the share of the survivors that is connected, against seconds."""

COUNTERS = {"churn_counter_delta": "Delta", "churn_counter_tree": "Tree"}
"""Of what was counted, with the synchronization."""

BEHIND = "churn_behind"
"""Of how far replicas are behind, against seconds; the mode follows."""

_DATA = data_of(__file__)
NAMES = _DATA["names"]

PICTURES = (REACH, BEHIND)
"""The pictures of faults."""


class Fault(NamedTuple):
    """The figures of one fault, by the simulator's names."""

    name: str
    nodes: int
    values: Mapping[str, float]
    mode: str = ""
    """The way to synchronise, of the counter's."""

    def shown(self, figure: str, form: str, missing: str = "") -> str:
        """A figure in a format such as `.2f`."""
        return format(self.values[figure], form) if figure in self.values else missing


def faults(figures: Iterable[Cell], experiment: str) -> list[Fault]:
    """The faults that an experiment has simulated."""
    order = list(NAMES)
    found = [Fault(*key, values) for key, values in grouped(figures, experiment).items()]
    return sorted(found, key=lambda fault: (order.index(fault.name), fault.nodes))


def checks(figures: Sequence[Cell]) -> list[Check]:
    """One component again, and an exact account, after every fault that was simulated."""
    overlay = [fault.values for fault in faults(figures, OVERLAY)]
    whole = "faults after which all nodes were one component again (simulated)"
    claims = {whole: ["one_component" in values for values in overlay]}
    for experiment, mode in COUNTERS.items():
        counted = [f.values for f in faults(figures, experiment) if "increments" in f.values]
        name = f"{mode.lower()}: faults after which value + lost = increments (simulated)"
        claims[name] = [v["value"] + v["lost"] == v["increments"] for v in counted]
    return [every(name, held) for name, held in claims.items() if held]


def section(figures: Sequence[Cell], drawn: Mapping[str, Picture]) -> Section:
    """The part of a page that is about faults; empty where none was simulated."""
    overlay = faults(figures, OVERLAY)
    counted = [
        fault._replace(mode=mode)
        for name, mode in COUNTERS.items()
        for fault in faults(figures, name)
    ]
    tables = [_table("overlay", _KEY, overlay)] if overlay else []
    tables += [_table("counter", (_MODE, *_KEY), counted)] if counted else []
    shown = [drawn[name] for name in PICTURES if name in drawn]
    return Section(title="Faults", parts=[*tables, *shown] if tables else [])


_KEY: tuple[Column[Fault], ...] = (
    ("fault", lambda fault: NAMES[fault.name]),
    ("nodes", lambda fault: f"{fault.nodes:,}"),
)
_MODE: Column[Fault] = ("synchronization", lambda fault: fault.mode)


def _table(name: str, key: Sequence[Column[Fault]], found: Sequence[Fault]) -> Table:
    """The table of this name, with the columns of the data after those of the key."""
    columns = [(head, _shown(column)) for head, column in _DATA[name].items()]
    return tabulated([*key, *columns], found, _DATA[f"{name}_note"])


def _shown(column: Sequence[str]) -> Callable[[Fault], str]:
    return lambda fault: fault.shown(*column)
