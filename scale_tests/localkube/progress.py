"""A line with the progress of a long step and its remaining time."""

import sys
import time

INTERVAL_TERMINAL = 0.2
INTERVAL_LOG = 15.0
"""Seconds between two lines where the output is kept (a file, a CI log)."""


def seconds_left(done: float, total: float, elapsed: float) -> float | None:
    """The estimated seconds left; None while there is too little to estimate from.

    Linear in the work: `done` and `total` in any one unit, `elapsed` in seconds.
    """
    if done <= 0 or total <= 0 or elapsed < 5 or done / total < 0.02:
        return None
    return max(0.0, elapsed * (total - done) / done)


def duration(seconds: float) -> str:
    """A length of time for people: `4 min 05 s`, `12 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


class Progress:
    """Shows one step: a line that rewrites itself on a terminal, a line now and then in a log."""

    def __init__(self, step: str, *, total: int = 0) -> None:
        """Starts the clock of `step`. With no `total` it counts, and estimates nothing."""
        self._step = step
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._terminal = sys.stdout.isatty()
        self._shown = self._started

    def advance(self, amount: int) -> None:
        """Notes that `amount` more of the total is done."""
        self._done += amount
        now = time.monotonic()
        if now - self._shown >= (INTERVAL_TERMINAL if self._terminal else INTERVAL_LOG):
            self._shown = now
            self._show(self._line(now - self._started), last=False)

    def finish(self) -> None:
        """Says how long the step took, if it was long enough to have been shown."""
        elapsed = time.monotonic() - self._started
        if self._shown > self._started or elapsed > 1:
            self._show(f"  {self._step}: done in {duration(elapsed)}", last=True)

    def _line(self, elapsed: float) -> str:
        if not self._total:
            return f"  {self._step}: {self._done} so far, {duration(elapsed)}"
        left = seconds_left(self._done, self._total, elapsed)
        estimate = "estimating" if left is None else f"about {duration(left)} left"
        share = min(100, 100 * self._done // self._total)
        return f"  {self._step}: {share} %, {duration(elapsed)}, {estimate}"

    def _show(self, line: str, *, last: bool) -> None:
        if self._terminal:
            print(f"\r{line:<78}", end="\n" if last else "", flush=True)
        else:
            print(line, flush=True)
