"""What a person reads of a measurement on the terminal."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from rich.console import Console

from scale_tests.measure.bars import Bar


def spread(figures: Iterable[float]) -> str:
    """The median of some figures, at least one, with the least and the largest of them."""
    values = list(figures)
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def show_bars(console: Console, bars: Sequence[Bar]) -> bool:
    """Prints a line for each bar and returns whether none is missed."""
    for bar in bars:
        line = f"{bar.verdict}: {bar.name}: {bar.found} ({bar.bar})"
        console.print(line, markup=False, soft_wrap=True)
    return all(bar.ok is not False for bar in bars)
