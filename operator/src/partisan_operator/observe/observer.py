"""Looks at a cluster: asks the API server for objects, and the nodes for reports.

There is no watch of pods. Addresses come from the EndpointSlices of the headless Services, a few
objects however many pods there are, read from the API server's cache. While a cluster is settled
even these are left alone: a pod that comes, goes or changes its readiness changes the status of its
StatefulSet, which is watched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import Any

from partisan_operator import metrics, rollout
from partisan_operator.children import (
    Family,
    certificate,
    credentials,
    naming,
    node_http,
    pod_monitor,
    tls_files,
)
from partisan_operator.children.child import owned_by
from partisan_operator.children.family import KINDS
from partisan_operator.diagnosis import (
    Reason,
    Trouble,
    creation_trouble,
    tls_secret_trouble,
    trouble_of,
)
from partisan_operator.kube import Kube, KubeError, Query
from partisan_operator.models import PartisanCluster
from partisan_operator.models.status import ConditionType
from partisan_operator.monitoring import Monitoring, wants_monitor
from partisan_operator.observe.observation import (
    Endpoint,
    Observation,
    PodRevision,
    SecretSeen,
    SecretState,
    Trust,
    merge_reports,
)
from partisan_operator.observe.scraper import Scraper
from partisan_operator.observe.secrets import Credentials, SecretReader
from partisan_operator.tls.issued import Issued, IssuedSecret
from partisan_operator.tls.prospect import prospect_of
from partisan_operator.tls.reading import read_store
from partisan_operator.tls.rotation import Store

SAMPLE = 8
"""Most pods that a diagnosis looks at: what ails a thousand shows in a few."""

_Live = dict[tuple[str, str], Mapping[str, Any]]


class Extent(Enum):
    """How much of a cluster is looked at. Its nodes always are."""

    NODES = "the nodes, where the last look found them"
    PODS = "StatefulSets and addresses of pods too"
    ALL = "children of all kinds too"


class Observer:
    """Makes observations."""

    def __init__(
        self,
        kube: Kube,
        scraper: Scraper,
        clock: Callable[[], datetime],
        *,
        nodes_monitored: bool = False,
    ) -> None:
        """Make an observer; `clock` stamps the observations.

        `nodes_monitored` says that a PodMonitor of the installation selects all nodes.
        """
        self._kube = kube
        self._secrets = SecretReader(kube)
        self._scraper = scraper
        self._clock = clock
        self._nodes_monitored = nodes_monitored

    async def look(
        self,
        cluster: PartisanCluster,
        family: Family,
        earlier: Observation | None,
        *,
        extent: Extent,
    ) -> Observation:
        """Look at a cluster once.

        `earlier` is the last observation: a node that does not answer this time may still be known
        from it, and what `extent` leaves out is taken from there. Without one nothing is left out
        but children.
        """
        if extent is Extent.NODES and earlier is not None:
            tls = await self._tls(cluster, earlier)
            objects = replace(earlier.without_children(), tls=tls)
        else:
            objects = await self._objects(cluster, family, earlier, complete=extent is Extent.ALL)
            objects = await self._addressed(cluster, objects, earlier)
        endpoints = objects.endpoints
        # Nodes that are to go are asked too: how they are decides whether they may.
        asked = naming.pod_names(
            cluster.name, max(cluster.spec.replicas, objects.ordinals(cluster))
        )
        with metrics.scrape_seconds.time():
            fresh, failures = await self._scraper.scrape(
                endpoints[name] for name in asked if name in endpoints
            )
        metrics.scrape_failures.inc(len(failures))
        now = self._clock()
        known = {} if earlier is None else earlier.seen
        observation = replace(
            objects, at=now, seen=merge_reports(known, fresh, endpoints, now), failures=failures
        )
        if observation.pods is not None or not rollout.pending(observation.shards(cluster)):
            return observation
        return replace(observation, pods=await self._pods(cluster))

    async def troubles(
        self, cluster: PartisanCluster, observation: Observation
    ) -> tuple[Trouble, ...]:
        """Return what keeps a few of the pods from being ready, seeds first."""
        seeds = set(seed_names(cluster))
        unready = sorted(observation.unready(cluster), key=lambda name: name not in seeds)
        sample = unready[:SAMPLE]
        pods = await asyncio.gather(
            *(self._kube.get("Pod", cluster.namespace, name) for name in sample)
        )
        found = [trouble for pod in pods if pod is not None and (trouble := trouble_of(pod))]
        found = await self._with_tls_secret(cluster, found)
        if None in pods:
            found += await self._creation_troubles(cluster, frozenset(unready))
        return tuple(found)

    async def _with_tls_secret(
        self, cluster: PartisanCluster, troubles: list[Trouble]
    ) -> list[Trouble]:
        """Name the user's Secret that pods wait for: they only say that they have not started."""
        tls = cluster.spec.security.tls
        name = None if tls is None else tls.secret_name
        if name is None or all(entry.reason != Reason.POD_NOT_STARTING for entry in troubles):
            return troubles
        secret = await self._kube.get("Secret", cluster.namespace, name)
        return [
            tls_secret_trouble(entry, name, tls_files.KEYS, secret)
            if entry.reason == Reason.POD_NOT_STARTING
            else entry
            for entry in troubles
        ]

    async def credentials(self, cluster: PartisanCluster, nodes: Iterable[Endpoint]) -> Credentials:
        """Return what orders to these nodes have to show."""
        return await self._secrets.credentials(cluster, nodes)

    async def _objects(
        self,
        cluster: PartisanCluster,
        family: Family,
        earlier: Observation | None,
        *,
        complete: bool,
    ) -> Observation:
        live, endpoints, tls = await asyncio.gather(
            self._children(cluster, family, complete=complete),
            self._endpoints(cluster),
            self._tls(cluster, None if complete else earlier),
        )
        token, bearer = await self._shared_secrets(
            cluster, live, endpoints, None if complete else earlier
        )
        monitoring = Monitoring.UNKNOWN if earlier is None else earlier.monitoring
        if complete:
            monitoring = await self._add_monitors(cluster, family, live)
        return Observation(
            at=self._clock(),
            live=live,
            complete=complete,
            token=token,
            bearer=bearer,
            monitoring=monitoring,
            tls=tls,
            endpoints=endpoints,
        )

    async def _children(self, cluster: PartisanCluster, family: Family, *, complete: bool) -> _Live:
        kinds = KINDS if complete else ("StatefulSet",)
        query = Query(labels=naming.selector(cluster.name))
        lists = await asyncio.gather(
            *(self._kube.find(kind, cluster.namespace, query) for kind in kinds)
        )
        live: _Live = {
            (item["kind"], item["metadata"]["name"]): item for items in lists for item in items
        }
        await self._add_unlabelled(cluster, family, live, kinds)
        return live

    async def _add_monitors(
        self, cluster: PartisanCluster, family: Family, live: _Live
    ) -> Monitoring:
        """Add the cluster's PodMonitor, and say whether there may be one."""
        query = Query(labels=naming.selector(cluster.name))
        try:
            found = await self._kube.find(pod_monitor.KIND, cluster.namespace, query)
        except KubeError as error:
            if not error.out_of_reach:
                raise
            return Monitoring.NO_KIND
        live.update({(item["kind"], item["metadata"]["name"]): item for item in found})
        monitoring = Monitoring.INSTALLED if self._nodes_monitored else Monitoring.POSSIBLE
        if wants_monitor(cluster.spec.metrics.pod_monitor, monitoring):
            await self._add_unlabelled(cluster, family, live, (pod_monitor.KIND,))
        return monitoring

    async def _add_unlabelled(
        self, cluster: PartisanCluster, family: Family, live: _Live, kinds: Iterable[str]
    ) -> None:
        """Add objects that have a child's name without its labels.

        They are somebody else's, and an apply would take them over.
        """
        absent = [
            child.key for child in family.everyone if child.kind in kinds and child.key not in live
        ]
        found = await asyncio.gather(
            *(self._kube.get(kind, cluster.namespace, name) for kind, name in absent)
        )
        live.update({key: item for key, item in zip(absent, found, strict=True) if item})

    async def _tls(
        self, cluster: PartisanCluster, earlier: Observation | None
    ) -> Store | Issued | None:
        """Look at the nodes' certificate, where it is for the operator to see to it.

        What the `earlier` look found is good enough when nothing is to be done about it.
        """
        if earlier is not None and not prospect_of(cluster, earlier).unsettled:
            return earlier.tls
        tls = cluster.spec.security.tls
        if tls is None or tls.secret_name is not None:
            return None
        namespace = cluster.namespace
        nodes = self._kube.get("Secret", namespace, tls_files.made_secret_name(cluster.name))
        if tls.cluster_ca is not None:
            name = credentials.authority_name(cluster.name)
            authority = self._kube.get("Secret", namespace, name)
            return read_store(*await asyncio.gather(authority, nodes), cluster.uid)
        # A list, for it alone tells a kind that is not served from an object that is not there.
        query = Query(fields=f"metadata.name={cluster.name}")
        secret = await nodes
        found = None if secret is None else IssuedSecret.of(secret, cluster.uid)
        try:
            certificates = await self._kube.find(certificate.KIND, namespace, query)
        except KubeError as error:
            if not error.out_of_reach:
                raise
            return Issued(refusal=str(error), secret=found)
        named = (item for item in certificates if item["metadata"]["name"] == cluster.name)
        return Issued(live=next(named, None), secret=found)

    async def _shared_secrets(
        self,
        cluster: PartisanCluster,
        live: _Live,
        endpoints: Mapping[str, Endpoint],
        earlier: Observation | None,
    ) -> tuple[SecretSeen, SecretSeen]:
        """Read the token and the bearer, but for what the `earlier` look found to be well."""

        async def running() -> bool:
            """Whether pods run that read the token when they started.

            Kubernetes gives a pod its address after it has mounted the token, so no pods are
            listed, which a lost token asks for every few seconds, while any has one.
            """
            sets = {item["metadata"]["uid"] for item in live.values() if _is_set_of(cluster, item)}
            if sets and endpoints:
                return True
            pods = await self._pods(cluster) if sets else ()
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
        """Add how each node is spoken to, by what its pod was made from.

        The API server says so, not the node: by a false answer of its own a node would learn the
        token, and so would an attacker who alters packets.
        """
        pending = rollout.pending(objects.shards(cluster))
        pods = await self._pods(cluster) if pending else None
        trust = await self._trust(cluster, None if objects.complete else earlier)
        made = {pod.uid: pod.bearer for pod in pods or ()}

        def addressed(endpoint: Endpoint) -> Endpoint:
            shard = objects.live.get(("StatefulSet", endpoint.pod.rpartition("-")[0]))
            newest = shard is None or node_http.has_bearer(shard["spec"]["template"]["metadata"])
            bearer = made.get(endpoint.uid, newest)
            return replace(endpoint, bearer=bearer, trust=trust if bearer else None)

        endpoints = {name: addressed(endpoint) for name, endpoint in objects.endpoints.items()}
        return replace(objects, endpoints=endpoints, pods=pods, trust=trust)

    async def _trust(self, cluster: PartisanCluster, earlier: Observation | None) -> Trust | None:
        """Read by what nodes are known, unless all answered by what the `earlier` look found."""
        if earlier is not None and earlier.trust and earlier.seen and not earlier.failures:
            return earlier.trust
        return await self._secrets.trust(cluster)

    async def _endpoints(self, cluster: PartisanCluster) -> dict[str, Endpoint]:
        slices = await self._kube.find(
            "EndpointSlice", cluster.namespace, Query(labels=naming.selector(cluster.name))
        )
        entries = (entry for item in slices for entry in item.get("endpoints") or ())
        return {endpoint.pod: endpoint for entry in entries if (endpoint := _endpoint(entry))}

    async def _pods(self, cluster: PartisanCluster) -> tuple[PodRevision, ...]:
        labels = naming.selector(cluster.name)
        everyone, never_ran = await asyncio.gather(
            self._kube.find("Pod", cluster.namespace, Query(labels=labels, metadata_only=True)),
            self._kube.find(
                "Pod",
                cluster.namespace,
                Query(labels=labels, fields="status.phase=Pending", metadata_only=True),
            ),
        )
        pending = {item["metadata"]["uid"] for item in never_ran}
        return tuple(
            _pod_revision(item["metadata"], pending)
            for item in everyone
            if "deletionTimestamp" not in item["metadata"]
        )

    async def _creation_troubles(
        self, cluster: PartisanCluster, unready: Set[str]
    ) -> list[Trouble]:
        """Return what StatefulSets say of pods that they could not create.

        Events stay for an hour; those from before the cluster was last ready tell of the past.
        """
        events = await self._kube.find(
            "Event",
            cluster.namespace,
            Query(fields="involvedObject.kind=StatefulSet,reason=FailedCreate"),
        )
        ready = cluster.status.condition(ConditionType.READY)
        since = "" if ready is None else ready.last_transition_time[:19]
        recent = (event for event in events if (event.get("lastTimestamp") or "") >= since)
        troubles = map(creation_trouble, recent)
        return [trouble for trouble in troubles if trouble is not None and trouble.pod in unready]


def seed_names(cluster: PartisanCluster) -> tuple[str, ...]:
    """Return the names of the cluster's seeds."""
    ordinals = naming.seed_ordinals(cluster.spec.replicas, cluster.spec.discovery.seeds)
    return tuple(naming.pod_name(cluster.name, ordinal) for ordinal in ordinals)


def _is_set_of(cluster: PartisanCluster, item: Mapping[str, Any]) -> bool:
    return item["kind"] == "StatefulSet" and owned_by(item, cluster.uid)


def _endpoint(entry: Mapping[str, Any]) -> Endpoint | None:
    """Read an endpoint; None for one that names no pod or whose pod is going away.

    A Service that publishes addresses before they are ready says `ready` of all of them; it is
    `serving` that tells.
    """
    target, conditions = entry.get("targetRef") or {}, entry.get("conditions") or {}
    if target.get("kind") != "Pod" or conditions.get("terminating"):
        return None
    return Endpoint(
        pod=target["name"],
        uid=target["uid"],
        address=entry["addresses"][0],
        ready=bool(conditions.get("serving")),
    )


def _pod_revision(metadata: Mapping[str, Any], pending: set[str]) -> PodRevision:
    owners = metadata.get("ownerReferences") or ()
    return PodRevision(
        name=metadata["name"],
        uid=metadata["uid"],
        owner=next((owner["uid"] for owner in owners if owner.get("controller")), ""),
        revision=metadata["labels"].get("controller-revision-hash", ""),
        bearer=node_http.has_bearer(metadata),
        pending=metadata["uid"] in pending,
    )
