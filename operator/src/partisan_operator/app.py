"""Kopf wiring: what wakes which loop, and nothing else.

Only raw event handlers are used. They need no finalizer and write no annotation, so that clusters
can be deleted while the operator is away, and are.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterator, Mapping
from typing import Any, cast

import kopf
from aiohttp import web

from partisan_operator import __version__, metrics
from partisan_operator.children.naming import MANAGED_BY_LABEL, MANAGER
from partisan_operator.clock import utc_now
from partisan_operator.execute import Executor
from partisan_operator.kube import connect
from partisan_operator.loop import Tools
from partisan_operator.models.cluster import GROUP, KIND, PLURAL, VERSION
from partisan_operator.observe.observer import Observer
from partisan_operator.observe.scraper import Scraper
from partisan_operator.settings import Settings
from partisan_operator.supervisor import Supervisor
from partisan_operator.web import serve

logger = logging.getLogger(__name__)


class Backoffs:
    """Seconds between attempts to reach the API server, without end.

    Kopf gives up after a minute by default, and the operator with it. An API server that is
    upgraded is away for longer.
    """

    def __iter__(self) -> Iterator[float]:
        """Yield growing pauses, and then the same one for ever."""
        yield from (1.0, 2.0, 4.0, 8.0)
        yield from itertools.repeat(10.0)


class Application:
    """The operator between its start and its end."""

    def __init__(self, settings: Settings) -> None:
        """Make an application; `start` opens its connections."""
        self._settings = settings
        self._supervisor: Supervisor | None = None
        self._seen: dict[str, tuple[int, bool]] = {}

    @property
    def namespaced(self) -> bool:
        """Whether the operator serves some namespaces only, and has rights in these alone."""
        return bool(self._settings.namespaces)

    async def start(self) -> None:
        """Connect to the API server and open the HTTP port."""
        settings = self._settings
        logger.info(
            "partisan-operator %s serves %s, nodes run %s",
            __version__,
            ", ".join(settings.namespaces) or "all namespaces",
            settings.node_image,
        )
        self._kube = await connect()
        self._scraper = Scraper(
            timeout=settings.scrape_timeout,
            concurrency=settings.scrape_concurrency,
            clock=utc_now,
        )
        observer = Observer(self._kube, self._scraper, utc_now)
        executor = Executor(self._kube, self._scraper, observer)
        self._supervisor = Supervisor(Tools(self._kube, observer, executor, settings))
        self._web: web.AppRunner = await serve(self._supervisor, settings.metrics_port)
        self._lag = asyncio.create_task(metrics.measure_lag(), name="event loop lag")

    async def stop(self) -> None:
        """Stop all loops and close all connections."""
        if self._supervisor is None:
            return
        logger.info("stopping")
        self._lag.cancel()
        await self._supervisor.stop()
        await self._web.cleanup()
        await self._scraper.close()
        await self._kube.close()

    def cluster_event(self, manifest: Mapping[str, Any], event: str | None) -> None:
        """Wake a cluster's loop, unless only the status changed: that was the loop itself."""
        metadata = manifest["metadata"]
        state = metadata["generation"], "deletionTimestamp" in metadata
        if event == "DELETED":
            self._seen.pop(metadata["uid"], None)
        elif self._seen.get(metadata["uid"]) == state:
            return
        else:
            self._seen[metadata["uid"]] = state
        self._wake(metadata["namespace"], metadata["name"])

    def child_event(self, manifest: Mapping[str, Any]) -> None:
        """Wake the loop of the cluster that a child belongs to."""
        metadata = manifest["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            if owner.get("controller") and owner["kind"] == KIND:
                self._wake(metadata["namespace"], owner["name"])

    def _wake(self, namespace: str, name: str) -> None:
        if self._supervisor is not None:
            self._supervisor.wake(namespace, name)


def registry_of(application: Application) -> kopf.OperatorRegistry:
    """Return Kopf's registry with the handlers of an application."""
    registry = kopf.OperatorRegistry()

    @kopf.on.startup(registry=registry)
    async def startup(settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.posting.enabled = False
        settings.peering.standalone = True
        # To look for namespaces and definitions takes rights on the whole cluster.
        settings.scanning.disabled = application.namespaced
        settings.networking.error_backoffs = Backoffs()
        # An operator must notice that its connection has died silently.
        settings.watching.server_timeout = 300
        settings.watching.connect_timeout = 10
        await application.start()

    @kopf.on.cleanup(registry=registry)
    async def cleanup(**_: Any) -> None:
        await application.stop()

    @kopf.on.login(registry=registry)
    def login(**arguments: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**arguments) or kopf.login_with_kubeconfig(
            **arguments
        )

    @kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)
    async def on_cluster(body: kopf.Body, type: str | None, **_: Any) -> None:  # noqa: A002
        application.cluster_event(body, type)

    @kopf.on.event(
        "apps", "v1", "statefulsets", labels={MANAGED_BY_LABEL: MANAGER}, registry=registry
    )
    async def on_stateful_set(body: kopf.Body, **_: Any) -> None:
        application.child_event(body)

    return registry


async def run(settings: Settings) -> None:
    """Run the operator until it is told to stop."""
    await kopf.operator(
        registry=registry_of(Application(settings)),
        standalone=True,
        # Unused without peering. Left out, Kopf asks for the user's name, which a bare uid lacks.
        identity=cast(Any, MANAGER),
        clusterwide=not settings.namespaces,
        namespaces=settings.namespaces,
    )
