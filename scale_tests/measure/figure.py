"""Figures of the simulator, next to the papers'."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One figure with the paper's, in the names of `simulate.json`."""

    experiment: str
    overlay: str
    nodes: int
    parameter: str | float
    value: float
    seed: int
    paper_value: float | None
    explanation: str | None


def grouped(figures: Iterable[Cell], experiment: str) -> dict[tuple[str, int], dict[str, float]]:
    """The named figures of an experiment, by overlay and number of nodes."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for cell in figures:
        if cell.experiment == experiment and isinstance(cell.parameter, str):
            found.setdefault((cell.overlay, cell.nodes), {})[cell.parameter] = cell.value
    return found
