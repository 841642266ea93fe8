"""The loops of all clusters, one task for each."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from partisan_operator.api import metrics
from partisan_operator.loop import ClusterLoop
from partisan_operator.reconciler import Tools

STUCK_AFTER = 180.0
"""Seconds after which a reconcile counts as stuck. Each of its requests has its own, much shorter
timeout."""


@dataclass
class _Entry:
    loop: ClusterLoop
    task: asyncio.Task[None]


class Supervisor:
    """Starts a loop when a cluster appears, wakes it, and forgets it when it has ended."""

    def __init__(
        self, tools: Tools, gone: Callable[[str, str], None] = lambda namespace, name: None
    ) -> None:
        """Make a supervisor without loops.

        `gone` is called when a loop has ended because there is no such cluster.
        """
        self._tools, self._gone = tools, gone
        self._entries: dict[tuple[str, str], _Entry] = {}

    def wake(self, namespace: str, name: str, *, complete: bool = False) -> None:
        """Wake the loop of a cluster, or start it; a new one observes all children.

        A loop ends with its cluster, so a late wake-up starts one that ends at once.
        """
        key = (namespace, name)
        entry = self._entries.get(key)
        if entry is not None and not entry.task.done():
            entry.loop.wake(complete=complete)
            return
        loop = ClusterLoop(namespace, name, self._tools)
        task = asyncio.create_task(loop.run(), name=f"cluster {namespace}/{name}")
        task.add_done_callback(lambda done: self._forget(key, done))
        if entry is None:
            # Not set: each scope has a supervisor.
            metrics.clusters.inc()
        self._entries[key] = _Entry(loop, task)

    def dissolve(self, namespace: str, name: str) -> None:
        """Notify the nodes of a cluster of its deletion, if it has a loop."""
        if entry := self._entries.get((namespace, name)):
            entry.loop.dissolve()

    def stuck(self) -> list[str]:
        """Return the names of clusters whose reconcile is stuck."""
        limit = time.monotonic() - STUCK_AFTER
        return [
            f"{namespace}/{name}"
            for (namespace, name), entry in self._entries.items()
            if entry.loop.busy_since is not None and entry.loop.busy_since < limit
        ]

    async def stop(self, namespace: str = "") -> None:
        """Cancel all loops, or those of one namespace."""
        ending = {key: entry for key, entry in self._entries.items() if namespace in ("", key[0])}
        for entry in ending.values():
            entry.task.cancel()
        await asyncio.gather(*(entry.task for entry in ending.values()), return_exceptions=True)
        for key, entry in ending.items():
            # Another operator exports its metrics, and shows it.
            metrics.cluster_metrics.forget(*key)
            self._tools.audience.forgotten(*key)
            if self._entries.get(key) is entry:
                self._remove(key)

    def _forget(self, key: tuple[str, str], task: asyncio.Task[None]) -> None:
        entry = self._entries.get(key)
        if entry is None or entry.task is not task:
            return
        self._remove(key)
        if not task.cancelled():
            task.result()  # an error reaches the log
            self._gone(*key)

    def _remove(self, key: tuple[str, str]) -> None:
        del self._entries[key]
        metrics.clusters.dec()
