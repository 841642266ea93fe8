"""The process: scopes, watches and the HTTP port; maps events to the loops they wake."""

import asyncio
import logging
import signal
import socket
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from aiohttp import web
from kubernetes.aio.client import ApiClient

from partisan_operator import __version__
from partisan_operator.act.dissolution import is_final
from partisan_operator.api import metrics
from partisan_operator.api.fence import Fence
from partisan_operator.api.kinds import CLUSTERS, NAMESPACES, Kind
from partisan_operator.api.kube import Kube, connect
from partisan_operator.api.watches import Watches
from partisan_operator.children.child import digest
from partisan_operator.children.naming import CLUSTER_LABEL
from partisan_operator.console.authority import Authority
from partisan_operator.console.hub import Hub
from partisan_operator.console.peers import Identity, Peers
from partisan_operator.console.server import Console
from partisan_operator.console.server import serve as serve_page
from partisan_operator.models.clock import utc_now
from partisan_operator.models.cluster import KIND
from partisan_operator.observe.scraper import Scraper
from partisan_operator.schedule.fleet import Fleet, members_of
from partisan_operator.schedule.limiter import ReconcileLimiter
from partisan_operator.scope import Scope
from partisan_operator.settings import Settings
from partisan_operator.web import serve

logger = logging.getLogger(__name__)


class Application:
    """One run of the operator."""

    def __init__(self, settings: Settings) -> None:
        """Make an application; `run` opens its connections."""
        self._settings = settings
        self._scopes: dict[str, Scope] = {}
        self._clusters: dict[tuple[str, str], tuple[str, int, bool]] = {}
        self._children: dict[str, str] = {}

    async def run(self, stopping: asyncio.Event) -> None:
        """Reconcile clusters until stopped; then hand them over to another operator."""
        settings = self._settings
        logger.info(
            "partisan-operator %s serves %s, nodes run %s",
            __version__,
            ", ".join(settings.namespaces) or "all namespaces",
            settings.node_image,
        )
        client = await connect()
        scraper = Scraper(
            timeout=settings.scrape_timeout,
            concurrency=settings.scrape_concurrency,
            clock=utc_now,
        )
        # Unique for each start: a Lease of the previous process is not ours.
        identity = f"{settings.pod_name or socket.gethostname()}_{uuid.uuid4().hex[:8]}"
        served = settings.namespaces or ("",)
        hubs = {} if settings.console_port is None else {key: Hub() for key in served}
        members = members_of(Kube(client, Fence()), settings.namespaces, self._is_excluded)
        fleet, limiter = Fleet(members, settings.max_rolling_clusters), ReconcileLimiter()
        self._scopes = {
            namespace: Scope(
                client,
                scraper,
                settings,
                fleet,
                limiter,
                lease_namespace=namespace or settings.lease_namespace,
                identity=identity,
                audience=hubs.get(namespace),
            )
            for namespace in served
        }
        scopes = tuple(self._scopes.values())
        watches = Watches(Kube(client, Fence()).served, settings.namespaces, self.handle)
        port: web.AppRunner = await serve((*scopes, watches), settings.metrics_port)
        page = await self._serve_page(client, hubs)
        for scope in scopes:
            scope.start()
        tasks = [
            asyncio.create_task(watches.run(), name="watches"),
            asyncio.create_task(metrics.measure_lag(), name="event loop lag"),
            asyncio.create_task(stopping.wait(), name="signals"),
        ]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            logger.info("stopping")
            await asyncio.gather(*(scope.stop() for scope in scopes))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await port.cleanup()
            await page.aclose()
            await scraper.close()
            await client.close()
        for task in ended:
            task.result()

    async def _serve_page(self, client: ApiClient, hubs: Mapping[str, Hub]) -> AsyncExitStack:
        """Serve the live page until the returned stack is closed; there is none without hubs."""
        settings, stack = self._settings, AsyncExitStack()
        if settings.console_port is None:
            return stack
        kube = Kube(client, Fence())
        identity = Identity(
            settings.pod_namespace, settings.service_account, Path(settings.console_token)
        )
        peers = Peers(kube, identity, settings.console_port)
        stack.push_async_callback(peers.close)
        scopes = {key: (self._scopes[key], hub) for key, hub in hubs.items()}
        console = Console(scopes, Authority(kube), peers, identity.user)
        stack.push_async_callback((await serve_page(console, settings.console_port)).cleanup)
        return stack

    def handle(self, kind: Kind, manifest: Mapping[str, Any], event: str | None) -> None:
        """Wake the loop of the cluster that an event concerns."""
        if kind is CLUSTERS:
            self.cluster_event(manifest, event)
        elif kind is NAMESPACES:
            self.namespace_event(manifest)
        else:
            self.child_event(manifest, event, counts_pods=kind.plural == "statefulsets")

    def cluster_event(self, manifest: Mapping[str, Any], event: str | None) -> None:
        """Wake a cluster's loop, unless only the status changed: the loop wrote that itself."""
        metadata = manifest["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        scope = self._scope_of(namespace)
        if scope is None:
            return
        uid, known = metadata["uid"], self._clusters.get((namespace, name))
        if event == "DELETED" and known is not None and known[0] != uid:
            return  # Events of two objects come in any order: this one has a successor.
        if is_final(event, metadata):
            scope.dissolve(namespace, name)
        state = uid, metadata["generation"], "deletionTimestamp" in metadata
        if event == "DELETED":
            self._clusters.pop((namespace, name), None)
            scope.forget(namespace, name)
        elif event is None or known != state:
            # A new watch reports all clusters. It may have missed events of their children, so all
            # children are observed.
            self._clusters[namespace, name] = state
            scope.learn(namespace, name, complete=event is None)

    def namespace_event(self, manifest: Mapping[str, Any]) -> None:
        """Dissolve the clusters of a deleted namespace: its pods go before its clusters."""
        metadata = manifest["metadata"]
        scope = self._scope_of(metadata["name"])
        if scope is not None and "deletionTimestamp" in metadata:
            scope.dissolve_all(metadata["name"])

    def child_event(
        self, manifest: Mapping[str, Any], event: str | None, *, counts_pods: bool = False
    ) -> None:
        """Wake the loop of a child's cluster when the child has changed.

        The status of some kinds changes with every pod. It matters only for kinds that count pods.
        """
        metadata = manifest["metadata"]
        uid, earlier = metadata["uid"], self._children.pop(metadata["uid"], None)
        changed = event == "DELETED"
        if not changed:
            self._children[uid] = present = _fingerprint(manifest)
            changed = earlier is not None and earlier != present
        scope = self._scope_of(metadata["namespace"])
        if scope is None or not (changed or counts_pods):
            return
        for name in _clusters_of(metadata):
            scope.wake(metadata["namespace"], name, complete=changed)

    def _is_excluded(self, namespace: str) -> bool:
        scope = self._scope_of(namespace)
        return scope is not None and scope.is_excluded(namespace)

    def _scope_of(self, namespace: str) -> Scope | None:
        """Return the scope of a namespace's clusters; None before the start."""
        return self._scopes.get(namespace if self._settings.namespaces else "")


def _fingerprint(manifest: Mapping[str, Any]) -> str:
    """Return a hash of an object's spec and metadata, without its status."""
    volatile = ("resourceVersion", "generation", "managedFields")
    metadata = {key: item for key, item in manifest["metadata"].items() if key not in volatile}
    rest = {key: item for key, item in manifest.items() if key not in ("metadata", "status")}
    return digest([metadata, rest])


def _clusters_of(metadata: Mapping[str, Any]) -> set[str]:
    """Return the names of the clusters that a child belongs to."""
    owners = metadata.get("ownerReferences") or ()
    names = {owner["name"] for owner in owners if owner.get("controller") and owner["kind"] == KIND}
    # A child without its owner reference still belongs to it.
    labelled = (metadata.get("labels") or {}).get(CLUSTER_LABEL)
    return names | ({labelled} if labelled else set())


async def run(settings: Settings) -> None:
    """Run the operator until SIGTERM or SIGINT."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    await Application(settings).run(stopping)
