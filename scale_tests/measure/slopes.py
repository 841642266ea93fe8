"""The slope of a line that was sampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def slopes(line: Sequence[tuple[float, float]], window: float) -> Iterator[tuple[float, float]]:
    """The rise of a line per unit of time, against time, over the `window` before it."""
    start = 0
    for end, (time, value) in enumerate(line):
        while start + 1 < end and time - line[start + 1][0] >= window:
            start += 1
        elapsed = time - line[start][0]
        if elapsed > 0:
            yield time, (value - line[start][1]) / elapsed
