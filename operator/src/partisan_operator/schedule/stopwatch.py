"""Measures the processor time of one coroutine, without what runs while it waits.

Time of the process would count the work for all other clusters too.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Stopwatch(Generic[T]):
    """Awaits something, and adds up what each of its steps takes."""

    def __init__(
        self, awaited: Awaitable[T], clock: Callable[[], float] = time.thread_time
    ) -> None:
        """Measure with a clock that stands still while this thread does."""
        self._steps = awaited.__await__()
        self._clock = clock
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        """Run to the end, one step for each time that the event loop comes by."""
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
