"""One figure of a run, beside the paper's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One figure, as the simulator reported it."""

    experiment: str
    overlay: str
    nodes: int
    parameter: str | float
    value: float
    seed: int


@dataclass(frozen=True, kw_only=True)
class Cell(Measured):
    """One figure beside the paper's, in the names of `simulate.json`."""

    paper_value: float | None
    explanation: str | None
