"""Watches clusters, their children and namespaces, whose events wake the loops.

Kopf watches. It is restarted when it has ended or the served kinds have changed: CRDs may be
installed and removed while the operator runs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from partisan_operator.api.errors import KubeError
from partisan_operator.api.kinds import CLUSTERS, DEFINED, Kind
from partisan_operator.api.kopf_run import Handler, KopfRun

logger = logging.getLogger(__name__)

PERIOD = 5.0
"""Seconds between two checks of the served kinds, and at least between two starts of Kopf."""

Served = Callable[[str, str], Awaitable[frozenset[str]]]
"""Returns the plural names of the served kinds of a group and version."""


class Watches:
    """Keeps Kopf watching the served kinds."""

    def __init__(
        self,
        served: Served,
        namespaces: tuple[str, ...],
        handler: Handler,
        *,
        period: float = PERIOD,
    ) -> None:
        """Make watches of some namespaces, or of all; `handler` runs in the event loop's thread.

        `served` asks the API server.
        """
        self._served, self._namespaces, self._handler = served, namespaces, handler
        self._period = period
        self._watched: frozenset[str] | None = None
        self._error = ""

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            began = asyncio.get_running_loop().time()
            await self._run_once()
            elapsed = asyncio.get_running_loop().time() - began
            await asyncio.sleep(max(0.0, self._period - elapsed))

    def faults(self) -> list[str]:
        """Return no faults: Kopf is always restarted."""
        return []

    @property
    def obstacle(self) -> str:
        """Why changes of clusters go unnoticed; empty if they are watched."""
        if self._watched is None:
            return f"{CLUSTERS} are not watched: {self._error or 'the watches are starting'}"
        if str(CLUSTERS) not in self._watched:
            return f"{CLUSTERS} are not watched: apply the CustomResourceDefinition"
        return ""

    @property
    def state(self) -> str:
        """The watched kinds, as text."""
        return f"watches {', '.join(sorted(self._watched or ()))} and their children"

    async def _run_once(self) -> None:
        """Run Kopf until it ends, or the served kinds change."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def report(kind: Kind, manifest: Mapping[str, Any], event: str | None) -> None:
            with suppress(RuntimeError):  # the process ends
                loop.call_soon_threadsafe(self._handler, kind, dict(manifest), event)

        def end() -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

        kopf_run = KopfRun(self._namespaces, report, end)
        try:
            while not ended.is_set() and not await self._outdated(kopf_run):
                # Not wait_for: in Python 3.11 it drops a cancellation just after the end.
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._period):
                        await ended.wait()
        finally:
            self._watched = None
            await asyncio.to_thread(kopf_run.stop)
        self._error = kopf_run.error
        if kopf_run.error:
            logger.warning("the watches ended and restart: %s", kopf_run.error)

    async def _outdated(self, kopf_run: KopfRun) -> bool:
        """Whether the served kinds differ from those that a run watches."""
        if kopf_run.watched is None:
            return False
        if self._watched != kopf_run.watched:
            self._watched = kopf_run.watched
            level = logging.WARNING if self.obstacle else logging.INFO
            logger.log(level, "%s", self.obstacle or self.state)
        try:
            served = {str(kind) for kind in DEFINED if await self._is_served(kind)}
        except KubeError as error:
            logger.warning("the served kinds are unknown: %s", error)
            return False
        if served == kopf_run.watched:
            return False
        changed = ", ".join(sorted(served ^ kopf_run.watched))
        logger.info("the watches restart: %s are newly served, or no longer", changed)
        return True

    async def _is_served(self, kind: Kind) -> bool:
        return kind.plural in await self._served(kind.group, kind.version)
