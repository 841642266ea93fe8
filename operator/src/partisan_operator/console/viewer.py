"""One viewer's share of the stream: what it may see, and what it has not received yet."""

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from partisan_operator.console.history import Change, Part

MAX_PENDING = 512 * 1024
"""Bytes that wait for one viewer. A slower one gets a new snapshot instead."""


@dataclass(frozen=True)
class Selection:
    """The part of the document that a viewer sees."""

    namespaces: frozenset[str] | None
    """Namespaces whose clusters the viewer may read; None for all."""

    cluster: tuple[str, str] | None = None
    """Namespace and name of the cluster that is open, with its details."""

    def admits(self, part: Part) -> bool:
        """Whether the viewer sees a part."""
        if self.namespaces is not None and part.namespace not in self.namespaces:
            return False
        return part.section == "clusters" or (part.namespace, part.name) == self.cluster

    @property
    def mark(self) -> str:
        """A short name of the selection: a stream resumes only with the same one."""
        namespaces = "*" if self.namespaces is None else ",".join(sorted(self.namespaces))
        text = f"{namespaces} {'/'.join(self.cluster or ())}"
        return sha256(text.encode()).hexdigest()[:8]


class Viewer:
    """The queue of one viewer; its changes are shared with all others."""

    def __init__(self, selection: Selection, limit: int = MAX_PENDING) -> None:
        """Begin with an empty queue of at most `limit` bytes."""
        self.selection = selection
        self.behind = False
        """Whether changes were dropped: only a snapshot continues."""

        self.closed = False
        self._limit, self._pending = limit, 0
        self._changes: deque[Change] = deque()
        self._news = asyncio.Event()

    def put(self, change: Change) -> None:
        """Add a change, or drop all of them if they are too many."""
        if not self.behind:
            self._changes.append(change)
            self._pending += len(change.data)
            if self._pending > self._limit:
                self.skip()
        self._news.set()

    def skip(self) -> None:
        """Drop all changes: the viewer needs a snapshot."""
        self._changes.clear()
        self._pending, self.behind = 0, True

    def close(self) -> None:
        """End the stream."""
        self.closed = True
        self._news.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for news, at most for some seconds. Return whether the stream goes on."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        return not self.closed

    def take(self) -> list[Change]:
        """Take all changes."""
        taken = list(self._changes)
        self._changes.clear()
        self._pending = 0
        self._news.clear()
        return taken
