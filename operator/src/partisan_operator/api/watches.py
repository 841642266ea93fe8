"""Watches what wakes loops: clusters, every kind of child that may be listed, and namespaces.

Kopf does the watching. It finds out once, when it starts, which kinds are served, and ends when one
that it watches is gone. So it runs in a thread of its own, and is started again when it has ended,
or watches other kinds than are served now: definitions may come and go while the operator runs.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import kopf
from kopf._cogs.structs.references import Insights

from partisan_operator.api.kube import KubeError
from partisan_operator.children import certificate, pod_monitor
from partisan_operator.children.naming import MANAGED_BY_LABEL, MANAGER
from partisan_operator.models.cluster import GROUP, PLURAL, VERSION

logger = logging.getLogger(__name__)

PERIOD = 5.0
"""Seconds between two checks of what is served, and at least between two starts of Kopf."""

JOIN_TIMEOUT = 15.0
"""Seconds for which the end of Kopf's thread is waited for. It waits for its own tasks first."""


SERVER_TIMEOUT = 300
"""Seconds after which the API server ends a watch by itself."""

SILENCE = 70.0
"""Seconds without an event after which a watch is taken for dead and begins again. The API server
sends a bookmark every minute, so this is less than SERVER_TIMEOUT and notices a server that accepts
and never answers, and a connection whose other end is gone."""

ANSWER_TIMEOUT = 60.0
"""Seconds for which the answer to a list or to discovery is waited for."""


@dataclass(frozen=True)
class Kind:
    """A kind of objects that is watched."""

    group: str
    version: str
    plural: str
    defined: bool = False
    """Whether it has to be defined first: it may be served later, or not at all."""

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


CLUSTERS = Kind(GROUP, VERSION, PLURAL, defined=True)
CHILDREN = (
    Kind("apps", "v1", "statefulsets"),
    Kind("", "v1", "services"),
    Kind("", "v1", "configmaps"),
    Kind("policy", "v1", "poddisruptionbudgets"),
    Kind("networking.k8s.io", "v1", "networkpolicies"),
    Kind(pod_monitor.GROUP, pod_monitor.VERSION, "podmonitors", defined=True),
    Kind(certificate.GROUP, certificate.VERSION, "certificates", defined=True),
)
"""All kinds of children but Secrets: a right to watch these is one to read all of them."""

NAMESPACES = Kind("", "v1", "namespaces")
"""Watched where all of them are served: the right to watch one alone cannot be given."""

_DEFINED = tuple(kind for kind in (CLUSTERS, *CHILDREN) if kind.defined)

Handler = Callable[[Kind, Mapping[str, Any], str | None], None]
"""Takes the kind of an object, the object, and what happened: `ADDED`, `MODIFIED`, `DELETED`; None
for one that was there when the watch began."""

Served = Callable[[str, str], Awaitable[frozenset[str]]]
"""Returns the plural names of the kinds that are served of a group and version."""


class Backoffs:
    """Seconds between attempts to reach the API server, without end.

    Kopf gives up after a minute by default. An API server that is upgraded is away for longer.
    """

    def __iter__(self) -> Iterator[float]:
        """Yield growing pauses, and then the same one for ever."""
        yield from (1.0, 2.0, 4.0, 8.0)
        yield from itertools.repeat(10.0)


def registry_of(handler: Handler, kinds: Iterable[Kind]) -> kopf.OperatorRegistry:
    """Return Kopf's registry: only raw events are handled.

    They need no finalizer and write no annotation, so that clusters can be deleted while the
    operator is away, and are.
    """
    registry = kopf.OperatorRegistry()

    @kopf.on.startup(registry=registry)
    async def startup(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings)

    @kopf.on.login(registry=registry)
    def login(**arguments: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**arguments) or kopf.login_with_kubeconfig(
            **arguments
        )

    for kind in kinds:
        # The function's own parameters are Kopf's: the kind is bound beside them.
        kopf.on.event(kind.group, kind.version, kind.plural, registry=registry)(
            _handle_with(kind, handler)
        )
    return registry


def _handle_with(kind: Kind, handler: Handler) -> Any:
    async def handle(body: kopf.Body, type: str | None, **_: Any) -> None:  # noqa: A002
        handler(kind, body, type)

    handle.__name__ = kind.plural
    return handle


def configure(settings: kopf.OperatorSettings) -> None:
    """Set Kopf up to watch, and for nothing else."""
    settings.posting.enabled = False
    settings.peering.standalone = True
    # Scanning for namespaces and definitions takes rights on the whole cluster.
    settings.scanning.disabled = True
    settings.networking.error_backoffs = Backoffs()
    # An operator must notice that its connection has died silently.
    settings.networking.request_timeout = ANSWER_TIMEOUT
    settings.watching.connect_timeout = 10
    settings.watching.server_timeout = SERVER_TIMEOUT
    settings.watching.inactivity_timeout = SILENCE
    # Its thread is not the process: the end of the one is not that of the other.
    settings.process.ultimate_exiting_timeout = None
    for kind in CHILDREN:
        selector = f"{MANAGED_BY_LABEL}={MANAGER}"
        settings.watching.label_selectors[kind.group, kind.version, kind.plural] = selector


class _Kopf:
    """One run of Kopf, in a thread."""

    def __init__(
        self, namespaces: tuple[str, ...], handler: Handler, ended: Callable[[], None]
    ) -> None:
        """Begin a run, which calls `handler` and `ended` in its own thread."""
        self._namespaces, self._ended = namespaces, ended
        kinds = (CLUSTERS, *CHILDREN) if namespaces else (CLUSTERS, *CHILDREN, NAMESPACES)
        self._registry = registry_of(handler, kinds)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = threading.Event()
        self.watched: frozenset[str] | None = None
        """The kinds that it found; None until it has scanned."""

        self.error = ""
        """Why it ended; empty when it was stopped."""

        self._thread = threading.Thread(target=self._run, name="watches", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            asyncio.run(self._watch())
        except Exception as error:
            self.error = str(error) or type(error).__name__
        finally:
            self._ended()

    def stop(self) -> None:
        """End the run, and wait until it has ended."""
        self._stopped.set()
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(JOIN_TIMEOUT)

    async def _watch(self) -> None:
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        if self._stopped.is_set():
            return
        insights = Insights()
        # Kopf cancels all tasks at its end but those that were there before it.
        recording = asyncio.create_task(self._record(insights))
        await kopf.operator(
            registry=self._registry,
            insights=insights,
            standalone=True,
            # Unused without peering. Left out, Kopf asks for the user's name; a bare uid has none.
            identity=cast(Any, MANAGER),
            clusterwide=not self._namespaces,
            namespaces=self._namespaces,
            stop_flag=self._stop,
        )
        recording.cancel()

    async def _record(self, insights: Insights) -> None:
        await insights.ready_resources.wait()
        found = {(kind.group, kind.plural) for kind in insights.watched_resources}
        self.watched = frozenset(
            str(kind) for kind in _DEFINED if (kind.group, kind.plural) in found
        )


class Watches:
    """Keeps Kopf watching what is served."""

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
        """Watch for ever."""
        while True:
            began = asyncio.get_running_loop().time()
            await self._run_once()
            elapsed = asyncio.get_running_loop().time() - began
            await asyncio.sleep(max(0.0, self._period - elapsed))

    def faults(self) -> list[str]:
        """Return what is stuck: nothing, for Kopf is started again whatever happens."""
        return []

    @property
    def obstacle(self) -> str:
        """Why changes of clusters go unnoticed; empty when they do not."""
        if self._watched is None:
            return f"{CLUSTERS} are not watched: {self._error or 'the watches are about to begin'}"
        if str(CLUSTERS) not in self._watched:
            return f"{CLUSTERS} are not watched: apply the CustomResourceDefinition"
        return ""

    @property
    def standing(self) -> str:
        """What is watched, in words."""
        return f"watches {', '.join(sorted(self._watched or ()))} and their children"

    async def _run_once(self) -> None:
        """Run Kopf until it ends, or watches other kinds than are served."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def report(kind: Kind, manifest: Mapping[str, Any], event: str | None) -> None:
            with suppress(RuntimeError):  # the process ends
                loop.call_soon_threadsafe(self._handler, kind, dict(manifest), event)

        def end() -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

        kopf_run = _Kopf(self._namespaces, report, end)
        try:
            while not ended.is_set() and not await self._outdated(kopf_run):
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), self._period)
        finally:
            self._watched = None
            await asyncio.to_thread(kopf_run.stop)
        self._error = kopf_run.error
        if kopf_run.error:
            logger.warning("the watches ended and begin again: %s", kopf_run.error)

    async def _outdated(self, kopf_run: _Kopf) -> bool:
        """Whether a run watches other kinds than are served now."""
        if kopf_run.watched is None:
            return False
        if self._watched != kopf_run.watched:
            self._watched = kopf_run.watched
            level = logging.WARNING if self.obstacle else logging.INFO
            logger.log(level, "%s", self.obstacle or self.standing)
        try:
            served = {str(kind) for kind in _DEFINED if await self._is_served(kind)}
        except KubeError as error:
            logger.warning("what is served is not known: %s", error)
            return False
        if served == kopf_run.watched:
            return False
        changed = ", ".join(sorted(served ^ kopf_run.watched))
        logger.info("the watches begin again: %s came or went", changed)
        return True

    async def _is_served(self, kind: Kind) -> bool:
        return kind.plural in await self._served(kind.group, kind.version)
