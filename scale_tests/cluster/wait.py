"""Waiting for a cluster as long as it makes progress.

A deadline over a whole run is too short on a busy machine, or too long when nothing happens: waits
limit the time *without progress*.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from scale_tests.host.commands import ExpectedError

STALL_SECONDS = 300.0
"""Seconds without a change after which a wait fails."""

T = TypeVar("T")


class StalledError(ExpectedError):
    """A condition that was waited for did not come, and nothing has changed for a while."""


class StallClock:
    """Knows how long a value has not changed."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._value: Hashable = object()
        self._since = now()

    def observe(self, value: Hashable) -> float:
        """Takes the present value and returns the seconds for which it has been the same."""
        if value != self._value:
            self._value = value
            self._since = self._now()
        return self._now() - self._since


def wait_for(
    what: str,
    probe: Callable[[], T],
    done: Callable[[T], bool],
    *,
    progress: Callable[[T], Hashable] = repr,
    stall_seconds: float = STALL_SECONDS,
    period_seconds: float = 0.5,
) -> T:
    """Calls `probe` until its value is `done`; returns that value.

    `progress` picks what counts as movement; `what` is for the error. Raises StalledError:
    `progress` has not changed for `stall_seconds`.
    """
    clock = StallClock()
    while True:
        value = probe()
        if done(value):
            return value
        stalled = clock.observe(progress(value))
        if stalled > stall_seconds:
            raise StalledError(f"{what}: no progress for {stalled:.0f} s; the last I saw: {value}")
        time.sleep(period_seconds)


@contextmanager
def repeating(step: Callable[[], object], period_seconds: float) -> Iterator[None]:
    """Calls `step` every so many seconds in a thread of its own, until the block is left.

    An error of `step` ends the calls, and is raised on the way out.
    """
    ended, failures = threading.Event(), list[Exception]()

    def repeat() -> None:
        try:
            while not ended.wait(period_seconds):
                step()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=repeat, name="repeating", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failures:
        raise failures[0]
