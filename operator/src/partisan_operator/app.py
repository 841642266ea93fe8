"""Kopf wiring: what wakes which loop, and nothing else.

Only raw event handlers are used. They need no finalizer and write no annotation, so that clusters
can be deleted while the operator is away, and are.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, cast

import kopf
from aiohttp import web

from partisan_operator import __version__, metrics
from partisan_operator.children.naming import MANAGED_BY_LABEL, MANAGER
from partisan_operator.clock import utc_now
from partisan_operator.dissolution import is_final
from partisan_operator.kube import connect
from partisan_operator.models.cluster import GROUP, KIND, PLURAL, VERSION
from partisan_operator.observe.scraper import Scraper
from partisan_operator.scope import Scope
from partisan_operator.settings import Settings
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
        self._scopes: dict[str, Scope] = {}
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
        self._client = await connect()
        self._scraper = Scraper(
            timeout=settings.scrape_timeout,
            concurrency=settings.scrape_concurrency,
            clock=utc_now,
        )
        # Another one with every start: what this process began, it alone may go on with.
        identity = f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}"
        self._scopes = {
            namespace: Scope(
                self._client,
                self._scraper,
                settings,
                lease_namespace=namespace or settings.lease_namespace,
                identity=identity,
            )
            for namespace in settings.namespaces or ("",)
        }
        scopes = tuple(self._scopes.values())
        self._web: web.AppRunner = await serve(scopes, settings.metrics_port)
        self._lag = asyncio.create_task(metrics.measure_lag(), name="event loop lag")
        for scope in scopes:
            scope.start()

    async def stop(self) -> None:
        """Stop all loops, leave the clusters to another operator, close all connections."""
        if not self._scopes:
            return
        logger.info("stopping")
        self._lag.cancel()
        await asyncio.gather(*(scope.stop() for scope in self._scopes.values()))
        await self._web.cleanup()
        await self._scraper.close()
        await self._client.close()

    def cluster_event(self, manifest: Mapping[str, Any], event: str | None) -> None:
        """Wake a cluster's loop, unless only the status changed: that was the loop itself."""
        metadata = manifest["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        scope = self._scope_of(namespace)
        if scope is None:
            return
        if is_final(event, metadata):
            scope.dissolve(namespace, name)
        state = metadata["generation"], "deletionTimestamp" in metadata
        if event == "DELETED":
            self._seen.pop(metadata["uid"], None)
            scope.forget(namespace, name)
        elif self._seen.get(metadata["uid"]) != state:
            self._seen[metadata["uid"]] = state
            scope.learn(namespace, name)

    def child_event(self, manifest: Mapping[str, Any]) -> None:
        """Wake the loop of the cluster that a child belongs to."""
        metadata = manifest["metadata"]
        scope = self._scope_of(metadata["namespace"])
        for owner in metadata.get("ownerReferences") or ():
            if scope is not None and owner.get("controller") and owner["kind"] == KIND:
                scope.wake(metadata["namespace"], owner["name"])

    def _scope_of(self, namespace: str) -> Scope | None:
        """Return who looks after the clusters of a namespace; None before the start."""
        return self._scopes.get(namespace if self.namespaced else "")


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
