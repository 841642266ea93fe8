"""One figure of a run, beside the paper's."""

from __future__ import annotations

from dataclasses import dataclass

from scale_tests.simulate.runner import Measured


@dataclass(frozen=True, kw_only=True)
class Cell(Measured):
    """One figure beside the paper's, in the names of `simulate.json`."""

    paper_value: float | None
    explanation: str | None
