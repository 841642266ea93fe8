"""One run of Kopf, which watches the API server, in a thread of its own.

Kopf discovers the served kinds only at its start, and ends when one that it watches is removed:
`watches` restarts it.
"""

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

import kopf
from kopf._cogs.structs.references import Insights

from partisan_operator.api.kinds import CHILDREN, CLUSTERS, DEFINED, NAMESPACES, Kind
from partisan_operator.children.naming import MANAGED_BY_LABEL, MANAGER

JOIN_TIMEOUT = 15.0
"""Seconds to wait for the end of Kopf's thread, which waits for its own tasks first."""

SERVER_TIMEOUT = 300
"""Seconds after which the API server ends a watch by itself."""

SILENCE = 70.0
"""Seconds without an event after which a watch counts as dead and is restarted. The API server
sends a bookmark every minute, so this may be below SERVER_TIMEOUT. It detects a server that accepts
and never answers, and a broken connection."""

ANSWER_TIMEOUT = 60.0
"""Seconds to wait for the answer to a list or to discovery."""

Handler = Callable[[Kind, Mapping[str, Any], str | None], None]
"""Called with the kind of an object, the object, and the event: `ADDED`, `MODIFIED`, `DELETED`, or
None for one that existed when the watch began."""


class Backoffs:
    """Seconds between attempts to reach the API server, without end.

    By default Kopf gives up after a minute. The upgrade of an API server takes longer.
    """

    def __iter__(self) -> Iterator[float]:
        """Yield growing pauses, then repeat the last one."""
        yield from (1.0, 2.0, 4.0, 8.0)
        yield from itertools.repeat(10.0)


def registry_of(handler: Handler, kinds: Iterable[Kind]) -> kopf.OperatorRegistry:
    """Return Kopf's registry: only raw events are handled.

    They need no finalizer and no annotation, so clusters can be deleted without the operator.
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
        # Kopf sets the function's own parameters, so the kind is bound outside.
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
    """Configure Kopf to watch and nothing else."""
    settings.posting.enabled = False
    settings.peering.standalone = True
    # Scans for namespaces and CRDs need rights on the whole Kubernetes cluster.
    settings.scanning.disabled = True
    settings.networking.error_backoffs = Backoffs()
    # An operator must notice that its connection has died silently.
    settings.networking.request_timeout = ANSWER_TIMEOUT
    settings.watching.connect_timeout = 10
    settings.watching.server_timeout = SERVER_TIMEOUT
    settings.watching.inactivity_timeout = SILENCE
    # The end of its thread is not the end of the process.
    settings.process.ultimate_exiting_timeout = None
    for kind in CHILDREN:
        selector = f"{MANAGED_BY_LABEL}={MANAGER}"
        settings.watching.label_selectors[kind.group, kind.version, kind.plural] = selector


class KopfRun:
    """One run of Kopf, in a thread."""

    def __init__(
        self, namespaces: tuple[str, ...], handler: Handler, ended: Callable[[], None]
    ) -> None:
        """Start a run, which calls `handler` and `ended` in its own thread."""
        self._namespaces, self._ended = namespaces, ended
        kinds = (CLUSTERS, *CHILDREN) if namespaces else (CLUSTERS, *CHILDREN, NAMESPACES)
        self._registry = registry_of(handler, kinds)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = threading.Event()
        self.watched: frozenset[str] | None = None
        """The kinds that it watches; None until it has scanned."""

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
        # At its end, Kopf cancels all tasks but those that existed before it.
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
            str(kind) for kind in DEFINED if (kind.group, kind.plural) in found
        )
