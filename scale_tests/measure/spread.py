"""Figures of repetitions: selected, compared, and written."""

import inspect
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Cell = dict[str, Any]
T = TypeVar("T")

KB, MB = 1024, 1024 * 1024
"""In bytes, as the published benchmarks count them."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A median and the extremes around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """The spread of at least one value."""
        found = sorted(values)
        return cls(median=statistics.median(found), low=found[0], high=found[-1])

    def __str__(self) -> str:
        return f"{short(self.median)} ({short(self.low)} to {short(self.high)})"


def error_bars(spreads: Iterable[Spread]) -> list[tuple[float, ...]]:
    """Lengths below and above each median, as matplotlib takes them."""
    lengths = [(each.median - each.low, each.high - each.median) for each in spreads]
    return list(zip(*lengths, strict=True)) or [(), ()]


def growth(values: Sequence[float]) -> float:
    """The median of the last quarter of values over that of the second: near 1 once they settle."""
    quarter = max(1, len(values) // 4)
    before = values[quarter : 2 * quarter] or values[:1]
    return statistics.median(values[-quarter:]) / statistics.median(before)


def short(value: float) -> str:
    """A figure with the digits that mean something."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def having(cells: Iterable[Cell], **wanted: Any) -> list[Cell]:
    """The cells with these members, by their repetition if they have one."""
    found = [cell for cell in cells if all(cell.get(key) == v for key, v in wanted.items())]
    return sorted(found, key=lambda cell: int(cell.get("repetition", 0)))


def read(kind: type[T], cell: Cell) -> T:
    """A dataclass, from the members of a cell that its fields name."""
    return kind(**{name: cell[name] for name in inspect.signature(kind).parameters})


def ratio(
    over: Sequence[Cell], under: Sequence[Cell], figure: Callable[[Cell], float]
) -> Spread | None:
    """The ratio of a figure in each repetition; None where one side was not measured."""
    pairs = list(zip(over, under, strict=False))
    return Spread.of(figure(a) / figure(b) for a, b in pairs) if pairs else None


def medians(systems: Iterable[Sequence[Cell]], key: str) -> str:
    """The medians of a figure of several systems, side by side."""
    known = [[float(cell[key]) for cell in own if cell[key] is not None] for own in systems]
    return " / ".join(short(statistics.median(own)) if own else "-" for own in known)


def payload(size: int) -> str:
    """The size of a message: `512 KB`."""
    return f"{size // MB} MB" if size >= MB else f"{size // KB} KB"
