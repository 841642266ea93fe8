"""What simulated clusters are held to under faults: kills, churn, a partition.

The cells have the fault in the place of the overlay. No paper reports of the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scale_tests.results.bars import Bar
from scale_tests.simulate.figure import Cell

OVERLAY = "churn"
"""The experiment of the cells that tell how the overlay took a fault."""

REACH = "churn_reach"
"""Of those that tell the share of the survivors that is connected, against seconds."""

COUNTERS = {"churn_counter_delta": "delta", "churn_counter_tree": "tree"}
"""Of those that tell what was counted, and the mode in which it was synchronised."""

BEHIND = "churn_behind"
"""Of those that tell how far replicas are behind, against seconds; the mode follows."""


def bars(figures: Sequence[Cell]) -> list[Bar]:
    """What is asked of every fault that was simulated."""
    overlay = _by_fault(figures, OVERLAY)
    found = []
    if overlay:
        whole = [fault for fault, values in overlay.items() if "one_component" in values]
        found.append(
            Bar(
                name="faults after which all nodes were one component again (simulated)",
                value=f"{len(whole)} of {len(overlay)}",
                bar="all",
                ok=len(whole) == len(overlay),
            )
        )
    for experiment, mode in COUNTERS.items():
        counted = {
            fault: values
            for fault, values in _by_fault(figures, experiment).items()
            if "increments" in values
        }
        if counted:
            exact = [v for v in counted.values() if v["value"] + v["lost"] == v["increments"]]
            found.append(
                Bar(
                    name=f"{mode}: faults after which value + lost = increments (simulated)",
                    value=f"{len(exact)} of {len(counted)}",
                    bar="all",
                    ok=len(exact) == len(counted),
                )
            )
    return found


def _by_fault(figures: Iterable[Cell], experiment: str) -> dict[str, dict[str, float]]:
    """The named figures of each fault."""
    found: dict[str, dict[str, float]] = {}
    for cell in figures:
        if cell.experiment == experiment and isinstance(cell.parameter, str):
            found.setdefault(cell.overlay, {})[cell.parameter] = cell.value
    return found
