"""Observes a cluster: its objects through the API server, its nodes over HTTP.

The objects of a settled cluster are not read: a pod that appears, disappears or changes its
readiness changes the status of its StatefulSet, which is watched.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from enum import Enum

from partisan_operator.api import metrics
from partisan_operator.api.kube import Kube
from partisan_operator.children import DesiredChildren, naming, node_http
from partisan_operator.children.child import owned_by
from partisan_operator.models import PartisanCluster
from partisan_operator.observe.certificate_reader import read_certificate
from partisan_operator.observe.certificates import Issued, Store
from partisan_operator.observe.failure_reader import read_pod_failures
from partisan_operator.observe.objects import Live, ObjectReader
from partisan_operator.observe.observation import (
    Endpoint,
    Observation,
    PodMonitors,
    PodRevision,
    SecretSeen,
    SecretState,
    Trust,
    merge_reports,
)
from partisan_operator.observe.pod_failures import PodFailure
from partisan_operator.observe.scraper import Scraper
from partisan_operator.observe.secrets import Credentials, SecretReader


class Extent(Enum):
    """How much of a cluster is observed. Its nodes always are."""

    NODES = "the nodes, at the addresses of the last observation"
    PODS = "StatefulSets and addresses of pods too"
    ALL = "children of all kinds too"


class Observer:
    """Makes observations."""

    def __init__(self, kube: Kube, scraper: Scraper, clock: Callable[[], datetime]) -> None:
        """Make an observer; `clock` stamps the observations."""
        self._kube = kube
        self._objects = ObjectReader(kube)
        self._secrets = SecretReader(kube)
        self._scraper = scraper
        self._clock = clock

    async def observe(
        self,
        cluster: PartisanCluster,
        desired: DesiredChildren,
        earlier: Observation | None,
        *,
        extent: Extent,
        certificate: bool = True,
        traffic: bool = False,
    ) -> Observation:
        """Observe a cluster once.

        The `earlier` observation provides recent reports of nodes that do not answer, and whatever
        `extent` leaves out; without one, only children are left out. `certificate` is whether to
        read the nodes' certificate too, as `Extent.ALL` always does; `traffic`, whether to ask the
        nodes for their traffic to each peer.
        """
        known = None if extent is Extent.ALL else earlier
        reading = self._certificate(cluster, None if certificate else known)
        if extent is Extent.NODES and earlier is not None:
            objects = replace(earlier.without_children(), tls=await reading)
            if objects.rolling(cluster):
                objects = replace(objects, pods=await self._objects.pods(cluster))
        else:
            objects, tls = await asyncio.gather(
                self._observe_objects(cluster, desired, earlier, complete=extent is Extent.ALL),
                reading,
            )
            objects = await self._addressed(cluster, replace(objects, tls=tls), known)
        endpoints = objects.endpoints
        # Nodes to be removed are scraped too: their state decides whether they may go.
        scraped = naming.pod_names(
            cluster.name, max(cluster.spec.replicas, objects.ordinals(cluster))
        )
        with metrics.scrape_seconds.time():
            fresh, failures = await self._scraper.scrape(
                (endpoints[name] for name in scraped if name in endpoints), traffic=traffic
            )
        metrics.scrape_failures.inc(len(failures))
        now = self._clock()
        before = {} if earlier is None else earlier.seen
        seen = merge_reports(before, fresh, endpoints, now)
        return replace(objects, at=now, seen=seen, failures=failures)

    async def pod_failures(
        self, cluster: PartisanCluster, observation: Observation
    ) -> tuple[PodFailure, ...]:
        """Return why a few of the pods are not ready, seeds first."""
        return await read_pod_failures(self._kube, cluster, observation)

    async def credentials(self, cluster: PartisanCluster, nodes: Iterable[Endpoint]) -> Credentials:
        """Return the credentials of orders to these nodes."""
        return await self._secrets.credentials(cluster, nodes)

    async def _observe_objects(
        self,
        cluster: PartisanCluster,
        desired: DesiredChildren,
        earlier: Observation | None,
        *,
        complete: bool,
    ) -> Observation:
        live, endpoints = await asyncio.gather(
            self._objects.children(cluster, desired, complete=complete),
            self._objects.endpoints(cluster),
        )
        token, bearer = await self._shared_secrets(
            cluster, live, endpoints, None if complete else earlier
        )
        monitors = PodMonitors.UNKNOWN if earlier is None else earlier.monitors
        if complete:
            monitors, found = await self._objects.monitors(cluster, desired)
            live |= found
        return Observation(
            at=self._clock(),
            live=live,
            complete=complete,
            token=token,
            bearer=bearer,
            monitors=monitors,
            endpoints=endpoints,
        )

    async def _certificate(
        self, cluster: PartisanCluster, earlier: Observation | None
    ) -> Store | Issued | None:
        if earlier is not None:
            return earlier.tls
        return await read_certificate(self._kube, cluster)

    async def _shared_secrets(
        self,
        cluster: PartisanCluster,
        live: Live,
        endpoints: Mapping[str, Endpoint],
        earlier: Observation | None,
    ) -> tuple[SecretSeen, SecretSeen]:
        """Read the token and the bearer, unless the `earlier` observation found them valid."""

        async def running() -> bool:
            """Whether pods run that read the token when they started.

            A pod gets its address after it has mounted the token. So if any pod has an address,
            pods are not listed; a lost token would require that every few seconds.
            """
            sets = {
                item["metadata"]["uid"]
                for (kind, _), item in live.items()
                if kind == "StatefulSet" and owned_by(item, cluster.uid)
            }
            if sets and endpoints:
                return True
            pods = await self._objects.pods(cluster) if sets else ()
            return any(not pod.pending and pod.owner in sets for pod in pods)

        token = SecretSeen() if earlier is None else earlier.token
        bearer = SecretSeen() if earlier is None else earlier.bearer
        if token.state is not SecretState.VALID:
            token = await self._secrets.token(cluster, running)
        if bearer.state is not SecretState.VALID:
            bearer = await self._secrets.bearer(cluster)
        return token, bearer

    async def _addressed(
        self, cluster: PartisanCluster, objects: Observation, earlier: Observation | None
    ) -> Observation:
        """Add the scheme and credential of each node, from its pod's template.

        From the API server, not the node: a node that misreports it would be sent the token, and so
        would an attacker who alters packets.
        """
        pods = await self._objects.pods(cluster) if objects.rolling(cluster) else None
        trust = await self._trust(cluster, earlier)
        endpoints = _with_credentials(objects, pods or (), trust)
        return replace(objects, endpoints=endpoints, pods=pods, trust=trust)

    async def _trust(self, cluster: PartisanCluster, earlier: Observation | None) -> Trust | None:
        """Read the nodes' authorities, unless the earlier ones verified all answers."""
        if earlier is not None and earlier.trust and earlier.seen and not earlier.failures:
            return earlier.trust
        return await self._secrets.trust(cluster)


def _with_credentials(
    objects: Observation, pods: Iterable[PodRevision], trust: Trust | None
) -> dict[str, Endpoint]:
    made = {pod.uid: pod.bearer for pod in pods}

    def addressed(endpoint: Endpoint) -> Endpoint:
        shard = objects.live.get(("StatefulSet", endpoint.pod.rpartition("-")[0]))
        newest = shard is None or node_http.has_bearer(shard["spec"]["template"]["metadata"])
        bearer = made.get(endpoint.uid, newest)
        return replace(endpoint, bearer=bearer, trust=trust if bearer else None)

    return {name: addressed(endpoint) for name, endpoint in objects.endpoints.items()}
