"""Bounds how many clusters are reconciled at a time.

The operator computes in one thread: twenty reconciles at once would each take twenty times as long,
and act on outdated observations. So a few run at a time, and the others wait in the order of their
arrival. A slow reconcile gives its slot back early: nodes that hang delay no other cluster.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from partisan_operator.api import metrics

AT_A_TIME = 3
"""Concurrent reconciles: one computes while the others wait for the API server or for nodes."""

SLOT_SECONDS = 1.0
"""Seconds for which a reconcile holds its slot at most."""


class ReconcileLimiter:
    """The slots for concurrent reconciles."""

    def __init__(self, at_a_time: int = AT_A_TIME, slot_seconds: float = SLOT_SECONDS) -> None:
        """Make `at_a_time` slots, each held for `slot_seconds` at most."""
        self._free = asyncio.Semaphore(at_a_time)
        self._slot_seconds = slot_seconds

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot, and hold it until the block is left or its time is over."""
        loop = asyncio.get_running_loop()
        came = loop.time()
        await self._free.acquire()
        metrics.queue_seconds.observe(loop.time() - came)
        held = True

        def release() -> None:
            nonlocal held
            if held:
                held = False
                self._free.release()

        timeout = loop.call_later(self._slot_seconds, release)
        try:
            yield
        finally:
            timeout.cancel()
            release()
