"""What simulated clusters are held to under faults: kills, churn, a partition.

The cells have the fault in the place of the overlay. No paper reports of the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scale_tests.measure.bars import Bar
from scale_tests.measure.figure import Cell

OVERLAY = "churn"
"""The experiment of the cells that tell how the overlay took a fault."""

REACH = "churn_reach"
"""Of those that tell the share of the survivors that is connected, against seconds."""

COUNTERS = {"churn_counter_delta": "delta", "churn_counter_tree": "tree"}
"""Of those that tell what was counted, and the mode in which it was synchronised."""

BEHIND = "churn_behind"
"""Of those that tell how far replicas are behind, against seconds; the mode follows."""


FAULTS = {
    "calm": "no fault",
    "kill_10": "10 % killed at once",
    "kill_30": "30 % killed at once",
    "kill_50": "50 % killed at once",
    "churn": "1 % a minute",
    "partition": "in two for a minute",
}
"""What faults are called, in the order in which they are shown."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What one experiment tells of one fault, by the names of the figures."""

    name: str
    nodes: int
    values: dict[str, float] = field(default_factory=dict)


def faults(figures: Iterable[Cell], experiment: str) -> list[Fault]:
    """What was measured of each fault."""
    found: dict[tuple[str, int], Fault] = {}
    for cell in figures:
        if cell.experiment == experiment and isinstance(cell.parameter, str):
            fault = Fault(name=cell.overlay, nodes=cell.nodes)
            key = (cell.overlay, cell.nodes)
            found.setdefault(key, fault).values[cell.parameter] = cell.value
    order = list(FAULTS)
    return sorted(found.values(), key=lambda fault: (order.index(fault.name), fault.nodes))


def bars(figures: Sequence[Cell]) -> list[Bar]:
    """What is asked of every fault that was simulated."""
    overlay = faults(figures, OVERLAY)
    found = []
    if overlay:
        whole = [fault for fault in overlay if "one_component" in fault.values]
        found.append(
            Bar(
                name="faults after which all nodes were one component again (simulated)",
                value=f"{len(whole)} of {len(overlay)}",
                bar="all",
                ok=len(whole) == len(overlay),
            )
        )
    for experiment, mode in COUNTERS.items():
        counted = [f.values for f in faults(figures, experiment) if "increments" in f.values]
        if counted:
            exact = [v for v in counted if v["value"] + v["lost"] == v["increments"]]
            found.append(
                Bar(
                    name=f"{mode}: faults after which value + lost = increments (simulated)",
                    value=f"{len(exact)} of {len(counted)}",
                    bar="all",
                    ok=len(exact) == len(counted),
                )
            )
    return found
