"""The fence around all writes of an operator: open while it holds the Lease.

Every write passes the fence and must end while it is open. So an operator that was frozen,
disconnected or slow writes nothing after its Lease has expired.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


def steady_clock() -> float:
    """Return seconds of a clock that never jumps and continues during a suspend."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class FencedError(Exception):
    """Writes are forbidden: another operator may hold the Lease."""


class Fence:
    """Admits writes while this operator may act."""

    def __init__(self, clock: Callable[[], float] = steady_clock) -> None:
        """Make a closed fence."""
        self._clock = clock
        self._open_until = float("-inf")
        self._writing = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    def open(self, until: float) -> None:
        """Admit writes until that time."""
        self._open_until = until

    async def close(self) -> None:
        """Admit no more writes; return when those under way have ended."""
        self._open_until = float("-inf")
        await self._quiet.wait()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Admit a write within this context.

        Raises `FencedError` if the fence is closed, and `TimeoutError` if the write does not end
        before the fence, as it was set at the beginning, closes.
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
