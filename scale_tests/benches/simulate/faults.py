"""Simulated faults: kills, churn, a partition; the effects on the overlay and the ad counter.

The cells have the fault instead of the overlay. No paper reports the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scale_tests.measure.checks import Check
from scale_tests.measure.figure import Cell, grouped
from scale_tests.measure.page import Picture, Section, Table
from scale_tests.measure.tables import tabulated

OVERLAY = "churn"
"""The experiment of the overlay's figures."""

REACH = "churn_reach"
"""Of the share of the survivors that is connected, against seconds."""

COUNTERS = {"churn_counter_delta": "Delta", "churn_counter_tree": "Tree"}
"""Of what was counted, with the synchronization."""

BEHIND = "churn_behind"
"""Of how far replicas are behind, against seconds; the mode follows."""

NAMES = {
    "calm": "no fault",
    "kill_10": "10 % killed at once",
    "kill_30": "30 % killed at once",
    "kill_50": "50 % killed at once",
    "churn": "1 % a minute",
    "partition": "in two for a minute",
}
"""Faults, in the order in which they are shown."""

OVERLAY_NOTE = (
    "Simulated: how the overlay took each fault. A node that was killed comes back as another "
    "incarnation 10 to 30 s later (10 s in the churn). Survivors are those that the fault has not "
    "killed; while the network is cut, links across do not count. Seconds are from the kill, or "
    "the healing, for the survivors, and from the start of the last successor, or the healing, for "
    "all nodes; samples are 50 ms apart. Messages and bytes are the overlay's own, as pods' "
    "frames, from the fault until all nodes are one component again."
)

COUNTER_NOTE = (
    "Simulated: the ad counter, which counts every 10 s and propagates every 5 s, on the traces of "
    "such faults. When no node counts any more and all replicas are equal, value + lost = "
    "increments; lost are the increments of killed nodes that had reached no other node. Bytes are "
    "frames and, of them, counters, until a minute after the overlay is whole again; convergence "
    "is from the last count until all replicas are equal."
)

PICTURES = (REACH, BEHIND)
"""The pictures of faults."""


class Fault(NamedTuple):
    """The figures of one fault, by the simulator's names."""

    name: str
    nodes: int
    values: Mapping[str, float]

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
    claims = [
        (
            "faults after which all nodes were one component again (simulated)",
            ["one_component" in values for values in overlay],
        )
    ]
    for experiment, mode in COUNTERS.items():
        counted = [f.values for f in faults(figures, experiment) if "increments" in f.values]
        claims.append(
            (
                f"{mode.lower()}: faults after which value + lost = increments (simulated)",
                [v["value"] + v["lost"] == v["increments"] for v in counted],
            )
        )
    return [
        Check(name=name, value=f"{sum(held)} of {len(held)}", bar="all", ok=all(held))
        for name, held in claims
        if held
    ]


def section(figures: Sequence[Cell], drawn: Mapping[str, Picture]) -> Section:
    """The part of a page that is about faults; empty where none was simulated."""
    overlay = faults(figures, OVERLAY)
    counted = [(mode, fault) for name, mode in COUNTERS.items() for fault in faults(figures, name)]
    tables = [_overlay(overlay)] if overlay else []
    tables += [_counter(counted)] if counted else []
    shown = [drawn[name] for name in PICTURES if name in drawn]
    return Section(title="Faults", parts=[*tables, *shown] if tables else [])


def _overlay(found: Sequence[Fault]) -> Table:
    return tabulated(
        (
            ("fault", lambda f: NAMES[f.name]),
            ("nodes", lambda f: f"{f.nodes:,}"),
            ("killed", lambda f: f.shown("killed", ",.0f")),
            ("survivors in one component, least, %", lambda f: f.shown("least_reach", ".4g")),
            ("most components", lambda f: f.shown("most_components", ",.0f")),
            (
                "survivors one component after, s",
                lambda f: f.shown("survivors_connected", ".2f", "never"),
            ),
            ("all nodes after, s", lambda f: f.shown("one_component", ".2f", "never")),
            ("messages/s a node", lambda f: f.shown("messages_per_node_second", ".2f")),
            ("bytes/s a node", lambda f: f.shown("frame_bytes_per_node_second", ",.0f")),
        ),
        found,
        OVERLAY_NOTE,
    )


def _counter(found: Sequence[tuple[str, Fault]]) -> Table:
    return tabulated(
        (
            ("synchronization", lambda row: row[0]),
            ("fault", lambda row: NAMES[row[1].name]),
            ("nodes", lambda row: f"{row[1].nodes:,}"),
            ("increments", lambda row: row[1].shown("increments", ",.0f")),
            ("value", lambda row: row[1].shown("value", ",.0f")),
            ("lost", lambda row: row[1].shown("lost", ",.0f")),
            ("bytes/s a node", lambda row: row[1].shown("frame_bytes_per_node_second", ",.0f")),
            ("counters", lambda row: row[1].shown("payload_bytes_per_node_second", ",.0f")),
            ("converge, s", lambda row: row[1].shown("seconds_to_converge", ",.0f")),
        ),
        found,
        COUNTER_NOTE,
    )
