"""Waiting on a condition, with a limit and a reason."""

import time
from collections.abc import Callable

from scale_tests.host.commands import ExpectedError

POLL = 0.05
"""Seconds between two checks of a condition."""


class TimedOutError(ExpectedError):
    """A condition was not met in time; the message is what still stood in its way."""


def until_none(obstacle: Callable[[], str], *, seconds: float) -> None:
    """Waits until `obstacle` is empty. Raises TimedOutError with the last one."""
    deadline = time.monotonic() + seconds
    while remaining := obstacle():
        if time.monotonic() > deadline:
            raise TimedOutError(f"{remaining} (after {seconds:.0f} s)")
        time.sleep(POLL)
