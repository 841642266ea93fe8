"""The loops of all clusters, one task for each."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from partisan_operator.api import metrics
from partisan_operator.loop import ClusterLoop
from partisan_operator.reconciler import Tools

STUCK_AFTER = 180.0
"""Seconds after which a look that has not ended counts as stuck. Every request of a look has its
own time-out, well below."""


@dataclass
class _Entry:
    loop: ClusterLoop
    task: asyncio.Task[None]


class Supervisor:
    """Starts a loop when a cluster appears, wakes it, and forgets it when it has ended."""

    def __init__(self, tools: Tools) -> None:
        """Make a supervisor without loops."""
        self._tools = tools
        self._entries: dict[tuple[str, str], _Entry] = {}

    def wake(self, namespace: str, name: str, *, complete: bool = False) -> None:
        """Wake the loop of a cluster; start it when there is none. It then looks at all children.

        A loop ends by itself when its cluster is gone, so a wake-up that comes too late starts
        one that ends at once.
        """
        key = (namespace, name)
        entry = self._entries.get(key)
        if entry is not None:
            entry.loop.wake(complete=complete)
            return
        loop = ClusterLoop(namespace, name, self._tools)
        task = asyncio.create_task(loop.run(), name=f"cluster {namespace}/{name}")
        task.add_done_callback(lambda done: self._forget(key, done))
        self._entries[key] = _Entry(loop, task)
        metrics.clusters.set(len(self._entries))

    def dissolve(self, namespace: str, name: str) -> None:
        """Have the nodes of a cluster know that it is being deleted, if there is a loop for it."""
        if entry := self._entries.get((namespace, name)):
            entry.loop.dissolve()

    def stuck(self) -> list[str]:
        """Return the names of clusters whose look does not end."""
        limit = time.monotonic() - STUCK_AFTER
        return [
            f"{namespace}/{name}"
            for (namespace, name), entry in self._entries.items()
            if entry.loop.busy_since is not None and entry.loop.busy_since < limit
        ]

    async def stop(self) -> None:
        """Stop all loops, between two steps of whatever they are at."""
        tasks = [entry.task for entry in self._entries.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for namespace, name in list(self._entries):
            # Whoever looks after it from now on tells how it is.
            metrics.cluster_metrics.forget(namespace, name)
        self._entries.clear()
        metrics.clusters.set(0)

    def _forget(self, key: tuple[str, str], task: asyncio.Task[None]) -> None:
        entry = self._entries.get(key)
        if entry is not None and entry.task is task:
            del self._entries[key]
            metrics.clusters.set(len(self._entries))
