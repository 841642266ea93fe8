"""The fence around everything that an operator changes: open while it holds the Lease.

Every write passes through the fence and must end while it is open. An operator that was frozen,
cut off or merely slow so changes nothing after its time, whatever its loops were about to do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


def steady_clock() -> float:
    """Return seconds of a clock that never jumps, and goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class FencedError(Exception):
    """Nothing may be changed now: another operator may be at work."""


class Fence:
    """Lets writes through for as long as this operator may act."""

    def __init__(self, clock: Callable[[], float] = steady_clock) -> None:
        """Make a fence that is closed."""
        self._clock = clock
        self._open_until = float("-inf")
        self._writing = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    def open(self, until: float) -> None:
        """Let writes through until that time."""
        self._open_until = until

    async def close(self) -> None:
        """Let no more writes through; return when those under way have ended."""
        self._open_until = float("-inf")
        await self._quiet.wait()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write something within this context.

        Raises `FencedError` when the fence is closed, and `TimeoutError` when the write does not
        end in the time for which it was open at the beginning.
        """
        left = self._open_until - self._clock()
        if left <= 0:
            raise FencedError("this operator does not hold the Lease")
        self._writing += 1
        self._quiet.clear()
        try:
            async with asyncio.timeout(None if left == float("inf") else left):
                yield
        finally:
            self._writing -= 1
            if not self._writing:
                self._quiet.set()
