"""Progress of a run: lines of a cell, and the time that is left."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from rich.console import Console

from scale_tests.benches.experiments.experiment import Point
from scale_tests.host.units import MIB
from scale_tests.measure.cells import Result

LINE_SECONDS = 10.0
"""The interval between lines of progress while a cell runs."""

FIRST_SECONDS, SECONDS_PER_NODE = 15.0, 0.5
"""The assumed time of a cell next to its counting, until the first is done."""


def progress(console: Console, now: Callable[[], float] = time.monotonic) -> Callable[[str], None]:
    """Writes the lines that it is called with, one in `LINE_SECONDS`."""
    started, due = now(), 0.0

    def say(line: str) -> None:
        nonlocal due
        elapsed = now() - started
        if elapsed >= due:
            text = f"  {elapsed:5.0f} s  {line}"
            console.print(text, highlight=False, markup=False, soft_wrap=True)
            due = elapsed + LINE_SECONDS

    return say


def estimate(todo: Sequence[Point], finished: Sequence[Result]) -> float:
    """Seconds that the cells yet to run will take, by the time of those before next to counting."""
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
    """A duration in words."""
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
