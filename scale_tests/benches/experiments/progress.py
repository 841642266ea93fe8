"""How far a cell is, and how long it and those after it will take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from rich.console import Console

from scale_tests.benches.experiments.experiment import Point
from scale_tests.host.units import MIB
from scale_tests.measure.cells import Result

LINE_SECONDS = 10.0
"""How often a line of progress is written while a cell runs."""

FIRST_SECONDS, SECONDS_PER_NODE = 15.0, 0.5
"""What a cell is taken to need beside its counting, until the first has told."""


class Pace:
    """Tells when something will have come to its end by how it has gone on so far."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._first: tuple[float, float] | None = None

    def left(self, share: float) -> float | None:
        """Seconds until the share that is done is 1; None as long as it has not grown."""
        now = self._now()
        if self._first is None:
            self._first = (now, share)
        since, done_then = self._first
        grown = share - done_then
        return max(0.0, 1 - share) * (now - since) / grown if grown > 0 else None


class Progress:
    """Writes what a cell tells, but not more often than somebody wants to read."""

    def __init__(
        self, console: Console, later: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        """`later` is how many seconds the cells after this one will take."""
        self._console = console
        self._later = later
        self._now = now
        self._pace = Pace(now)
        self._started = now()
        self._next = 0.0

    def __call__(self, line: str, counted: float | None = None) -> None:
        """Takes a line, and the share of its impressions that a cell has counted while it does."""
        left = None if counted is None else self._pace.left(counted)
        elapsed = self._now() - self._started
        if elapsed >= self._next:
            text = f"  {elapsed:5.0f} s  {line}{self._estimate(left)}"
            self._console.print(text, highlight=False, markup=False, soft_wrap=True)
            self._next = elapsed + LINE_SECONDS

    def _estimate(self, left: float | None) -> str:
        if not left:
            return ""
        in_all = f", {minutes(left + self._later)} in all" if self._later else ""
        return f"; about {minutes(left)} of counting left{in_all}"


def estimate(todo: Sequence[Point], finished: Sequence[Result]) -> float:
    """Seconds that the cells yet to run will take, from what those before took beside counting."""
    if not todo:
        return 0.0
    per_node = SECONDS_PER_NODE
    if finished:
        counting = {point.nodes: point.counting_seconds() for point in todo[0].experiment.points()}
        per_node = statistics.median(
            max(0.0, found.seconds_in_all - counting[found.nodes] - FIRST_SECONDS) / found.nodes
            for found in finished
        )
    return sum(FIRST_SECONDS + point.counting_seconds() + per_node * point.nodes for point in todo)


def minutes(seconds: float) -> str:
    """A duration as people say it."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def outcome(found: Result) -> str:
    """A finished cell in one line."""
    if found.error is not None:
        return f"FAILED after {found.seconds_in_all:.0f} s: {found.error}"
    return (
        f"{'converged' if found.converged else 'NOT CONVERGED'}: {found.value} impressions, "
        f"payload {found.bytes_payload / MIB:.1f} MiB, frames {found.bytes_frames / MIB:.1f} MiB, "
        f"joined in {found.seconds_to_joined} s, {found.seconds_in_all:.0f} s in all"
    )
