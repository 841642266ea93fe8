"""Events that end the pause of a cluster's loop."""

import asyncio
from contextlib import suppress


class Wakeups:
    """Whether events arrived since the last reconcile. Nothing else is kept of an event."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._children_changed = False

    def wake(self, *, complete: bool = False) -> None:
        """End the pause; `complete`: children of any kind may have changed."""
        self._children_changed |= complete
        self._woken.set()

    @property
    def pending(self) -> bool:
        """Whether anything arrived since the last `take`."""
        return self._woken.is_set()

    def take(self) -> tuple[bool, bool]:
        """Return whether anything arrived, and whether children of any kind may have changed."""
        taken = self._woken.is_set(), self._children_changed
        self._woken.clear()
        self._children_changed = False
        return taken

    async def pause(self, seconds: float) -> None:
        """Sleep until woken, at most that many seconds."""
        # Not wait_for: in Python 3.11 it drops a cancellation that comes just after the wake-up.
        with suppress(TimeoutError):  # the next reconcile is due
            async with asyncio.timeout(max(0.0, seconds)):
                await self._woken.wait()
