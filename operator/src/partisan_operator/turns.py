"""Clusters take turns at being looked at.

The operator computes in one thread: twenty looks at once would each take twenty times as long, and
what was seen first would be old when something is done about it. So a few have their turn at a
time, and the others wait in the order in which they came. A look gives its turn away after a while
if it has not come to its end: nodes that hang keep no other cluster waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from partisan_operator import metrics

AT_A_TIME = 3
"""Looks at a time: one computes while the others wait for the API server or for nodes."""

PATIENCE = 1.0
"""Seconds for which a look has its turn at most."""


class Turns:
    """Who may look at its cluster now."""

    def __init__(self, at_a_time: int = AT_A_TIME, patience: float = PATIENCE) -> None:
        """Let so many look at a time, each for so many seconds at most."""
        self._free = asyncio.Semaphore(at_a_time)
        self._patience = patience

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it until the block is left or patience ends."""
        loop = asyncio.get_running_loop()
        came = loop.time()
        await self._free.acquire()
        metrics.queue_seconds.observe(loop.time() - came)
        has_turn = True

        def give_away() -> None:
            nonlocal has_turn
            if has_turn:
                has_turn = False
                self._free.release()

        patience = loop.call_later(self._patience, give_away)
        try:
            yield
        finally:
            patience.cancel()
            give_away()
