"""Measures the processor time of one coroutine, without tasks that run while it waits.

The process time would include the work for all other clusters.
"""

import time
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Stopwatch(Generic[T]):
    """Awaits a coroutine and sums the time of its steps."""

    def __init__(
        self, awaited: Awaitable[T], clock: Callable[[], float] = time.thread_time
    ) -> None:
        """Measure with a clock of this thread's processor time."""
        self._steps = awaited.__await__()
        self._clock = clock
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        """Run to the end, one step each time that the event loop resumes it."""
        step = partial(self._steps.send, None)
        while True:
            began = self._clock()
            try:
                waits_for = step()
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self.seconds += self._clock() - began
            try:
                yield waits_for
                step = partial(self._steps.send, None)
            except BaseException as error:
                step = partial(self._steps.throw, error)
