"""Cells in rows: those that differ in their size alone, and in their trial."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scale_tests.measure.cells import Result


@dataclass(frozen=True, kw_only=True)
class At:
    """A figure at one size: the median of the trials, and the extremes."""

    nodes: int
    median: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Series:
    """The cells of an overlay with a synchronization."""

    overlay: str
    synchronization: str
    cells: tuple[Result, ...]

    @property
    def name(self) -> str:
        """How legends call it."""
        return f"{self.overlay}, {self.synchronization}"

    def figure(self, of: Callable[[Result], float | None]) -> list[At]:
        """A figure of each size's cells; sizes at which it is known of none are left out."""
        found = []
        for nodes in sorted({cell.nodes for cell in self.cells}):
            values = [of(cell) for cell in self.cells if cell.nodes == nodes]
            known = [value for value in values if value is not None]
            if known:
                found.append(
                    At(
                        nodes=nodes,
                        median=statistics.median(known),
                        low=min(known),
                        high=max(known),
                    )
                )
        return found


def series(results: Iterable[Result]) -> list[Series]:
    """The cells that came to their end, in the order in which overlays and modes first occur."""
    grouped: dict[tuple[str, str], list[Result]] = {}
    for cell in results:
        if cell.converged:
            grouped.setdefault((cell.overlay, cell.synchronization), []).append(cell)
    return [
        Series(overlay=overlay, synchronization=mode, cells=tuple(cells))
        for (overlay, mode), cells in grouped.items()
    ]


def sizes(rows: Sequence[Series]) -> list[int]:
    """All sizes of clusters."""
    return sorted({cell.nodes for row in rows for cell in row.cells})
