"""Reads a cluster's objects: children, addresses and pods.

There is no watch of pods. Addresses come from the EndpointSlices of the headless Services: a few
objects, however many pods there are, read from the API server's cache.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import Kube, Query
from partisan_operator.children import DesiredChildren, naming, node_http, pod_monitor
from partisan_operator.children.desired import KINDS
from partisan_operator.models import PartisanCluster
from partisan_operator.observe.observation import Endpoint, PodMonitors, PodRevision

Live = dict[tuple[str, str], Mapping[str, Any]]
"""Live objects by kind and name."""


class ObjectReader:
    """Reads objects of one cluster at a time. All methods raise `KubeError`."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def children(
        self, cluster: PartisanCluster, desired: DesiredChildren, *, complete: bool
    ) -> Live:
        """Return the live children: of all kinds if `complete`, else the StatefulSets."""
        kinds = KINDS if complete else ("StatefulSet",)
        lists = await asyncio.gather(*(self._labelled(cluster, kind) for kind in kinds))
        live = _by_key(item for items in lists for item in items)
        return live | await self._unlabelled(cluster, desired, live, kinds)

    async def monitors(
        self, cluster: PartisanCluster, desired: DesiredChildren
    ) -> tuple[PodMonitors, Live]:
        """Return whether PodMonitors are available, and the cluster's own."""
        try:
            live = _by_key(await self._labelled(cluster, pod_monitor.KIND))
        except KubeError as error:
            if not error.out_of_reach:
                raise
            return PodMonitors.UNAVAILABLE, {}
        live |= await self._unlabelled(cluster, desired, live, (pod_monitor.KIND,))
        return PodMonitors.AVAILABLE, live

    async def endpoints(self, cluster: PartisanCluster) -> dict[str, Endpoint]:
        """Return the addresses of pods that are not terminating, by pod name."""
        query = Query(labels=naming.shards_selector(cluster.name))
        slices = await self._kube.find("EndpointSlice", cluster.namespace, query)
        entries = (entry for item in slices for entry in item.get("endpoints") or ())
        return {endpoint.pod: endpoint for entry in entries if (endpoint := _endpoint(entry))}

    async def pods(self, cluster: PartisanCluster) -> tuple[PodRevision, ...]:
        """Return the pods that are not terminating."""
        labels = naming.selector(cluster.name)
        found, never_ran = await asyncio.gather(
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
            for item in found
            if "deletionTimestamp" not in item["metadata"]
        )

    async def _labelled(self, cluster: PartisanCluster, kind: str) -> list[dict[str, Any]]:
        query = Query(labels=naming.selector(cluster.name))
        return await self._kube.find(kind, cluster.namespace, query)

    async def _unlabelled(
        self, cluster: PartisanCluster, desired: DesiredChildren, live: Live, kinds: Iterable[str]
    ) -> Live:
        """Return objects with a child's name but not its labels.

        They belong to another owner, and an apply would overwrite them.
        """
        absent = [
            child.key for child in desired.all if child.kind in kinds and child.key not in live
        ]
        found = await asyncio.gather(
            *(self._kube.get(kind, cluster.namespace, name) for kind, name in absent)
        )
        return {key: item for key, item in zip(absent, found, strict=True) if item}


def _by_key(items: Iterable[Mapping[str, Any]]) -> Live:
    return {(item["kind"], item["metadata"]["name"]): item for item in items}


def _endpoint(entry: Mapping[str, Any]) -> Endpoint | None:
    """Read an endpoint; None if it names no pod or its pod is terminating.

    A Service that publishes addresses before they are ready reports all of them as `ready`;
    readiness is in `serving`.
    """
    target, conditions = entry.get("targetRef") or {}, entry.get("conditions") or {}
    if target.get("kind") != "Pod" or conditions.get("terminating"):
        return None
    return Endpoint(
        pod=target["name"],
        uid=target["uid"],
        address=entry["addresses"][0],
        ready=bool(conditions.get("serving")),
        zone=entry.get("zone") or "",
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
