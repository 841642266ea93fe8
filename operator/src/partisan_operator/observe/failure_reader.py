"""Reads why pods are not ready, from a sample of the pods and the events of their StatefulSets."""

import asyncio
from collections.abc import Iterable, Mapping, Set
from typing import Any

from partisan_operator.api.kube import Kube, Query
from partisan_operator.children import naming, tls_files
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Reason
from partisan_operator.models.status import ConditionType
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.pod_failures import (
    PodFailure,
    creation_failure,
    failure_of,
    is_stuck,
    mount_failure,
    tls_secret_failure,
)

SAMPLE = 8
"""Most pods that one diagnosis reads: a few reveal the fault of a thousand."""


async def read_pod_failures(
    kube: Kube, cluster: PartisanCluster, observation: Observation
) -> tuple[PodFailure, ...]:
    """Return why a few of the pods are not ready, seeds first. Raises `KubeError`."""
    seeds = set(
        naming.seed_names(cluster.name, cluster.spec.replicas, cluster.spec.discovery.seeds)
    )
    unready = sorted(observation.unready(cluster), key=lambda name: name not in seeds)
    pods = await asyncio.gather(
        *(kube.get("Pod", cluster.namespace, name) for name in unready[:SAMPLE])
    )
    found = [failure for pod in pods if pod is not None and (failure := failure_of(pod))]
    found = await _with_tls_secret(kube, cluster, found)
    stuck = [pod for pod in pods if pod is not None and is_stuck(pod, observation.at)]
    found = await _with_mount(kube, cluster, found, stuck)
    if None in pods:
        found += await _creation_failures(kube, cluster, frozenset(unready))
    return tuple(found)


async def _with_tls_secret(
    kube: Kube, cluster: PartisanCluster, failures: list[PodFailure]
) -> list[PodFailure]:
    """Name the user's Secret that pods wait for; they only report that they have not started."""
    tls = cluster.spec.security.tls
    name = None if tls is None else tls.secret_name
    if name is None or all(entry.reason != Reason.POD_NOT_STARTING for entry in failures):
        return failures
    secret = await kube.get("Secret", cluster.namespace, name)
    return [
        tls_secret_failure(entry, name, tls_files.KEYS, secret)
        if entry.reason == Reason.POD_NOT_STARTING
        else entry
        for entry in failures
    ]


async def _with_mount(
    kube: Kube,
    cluster: PartisanCluster,
    failures: list[PodFailure],
    stuck: Iterable[Mapping[str, Any]],
) -> list[PodFailure]:
    """Name the volume that the first stuck pod waits for, which its events alone do.

    The others most likely wait for the same, and the API server searches all events for each.
    """
    waiting = {entry.pod for entry in failures if entry.reason is Reason.POD_NOT_STARTING}
    first = next((pod for pod in stuck if pod["metadata"]["name"] in waiting), None)
    if first is None:
        return failures
    name, uid = first["metadata"]["name"], first["metadata"]["uid"]
    events = await kube.find("Event", cluster.namespace, Query(fields=f"involvedObject.uid={uid}"))
    return [mount_failure(entry, events) if entry.pod == name else entry for entry in failures]


async def _creation_failures(
    kube: Kube, cluster: PartisanCluster, unready: Set[str]
) -> list[PodFailure]:
    """Return the StatefulSets' reports of pods that they could not create.

    Events stay for an hour; those from before the cluster was last ready are out of date.
    """
    events = await kube.find(
        "Event",
        cluster.namespace,
        Query(fields="involvedObject.kind=StatefulSet,reason=FailedCreate"),
    )
    ready = cluster.status.condition(ConditionType.READY)
    since = "" if ready is None else ready.last_transition_time[:19]
    recent = (event for event in events if (event.get("lastTimestamp") or "") >= since)
    failures = map(creation_failure, recent)
    return [failure for failure in failures if failure is not None and failure.pod in unready]
