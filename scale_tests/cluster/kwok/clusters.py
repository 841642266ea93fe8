"""PartisanClusters of simulated pods: applied, watched until they stand, disturbed."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, zip_longest
from operator import itemgetter

from scale_tests.cluster import kube
from scale_tests.cluster.kube import Cluster, Json, core, holds, moment, partisan_cluster
from scale_tests.cluster.partisan import CLUSTER_LABEL
from scale_tests.cluster.removal import create_namespace
from scale_tests.cluster.wait import wait_for

NAMESPACE = "simulated"
_PATCHING_AT_ONCE = 8


def prepare(cluster: Cluster) -> None:
    """Makes the namespace and waits for its service account, which pods need.

    Raises ApiError, StalledError.
    """
    create_namespace(cluster, NAMESPACE)
    wait_for(
        "the ServiceAccount of the pods",
        lambda: cluster.find(core(NAMESPACE, "serviceaccounts", "default")),
        bool,
    )


def stand_up(cluster: Cluster, count: int, pods: int, say: Callable[[str], None]) -> list[float]:
    """Applies clusters; returns the seconds from apply to Ready of each, ascending.

    Raises ApiError: a manifest is refused; StalledError: nothing has moved for a while.
    """
    applied: dict[str, float] = {}
    for index in range(count):
        name = f"c{index}"
        applied[name] = time.monotonic()
        # A HyParView cluster without a workload.
        body = kube.manifest(name, replicas=pods, overlay={"kind": "HyParView"})
        cluster.create(partisan_cluster(NAMESPACE), body)
    stood: dict[str, float] = {}

    def read() -> int:
        now, found = time.monotonic(), statuses(cluster)
        for item in found:
            name = item["metadata"]["name"]
            if holds(item, "Ready") and name not in stood:
                stood[name] = now - applied[name]
                if len(stood) % 5 == 0 or count < 5:
                    say(f"{len(stood)} of {count} clusters ready after {stood[name]:.1f} s")
        return sum(item.get("status", {}).get("ready") or 0 for item in found)

    wait_for(
        f"{count} clusters of {pods} simulated pods",
        read,
        lambda _: len(stood) == count,
        period_seconds=0.25,
    )
    return sorted(stood.values())


def statuses(cluster: Cluster) -> list[Json]:
    """All clusters, as the API server has them. Raises ApiError."""
    return cluster.list(partisan_cluster(NAMESPACE))


def disturb(cluster: Cluster, pods: int, changes: int) -> None:
    """Makes pods of all clusters in turn unready and ready again. Raises ApiError."""
    names = some_pods(
        [
            (item["metadata"]["labels"][CLUSTER_LABEL], item["metadata"]["name"])
            for item in cluster.list(core(NAMESPACE, "pods"), CLUSTER_LABEL)
        ],
        pods,
    )
    with ThreadPoolExecutor(_PATCHING_AT_ONCE) as pool:
        for ready in states(len(names), changes):
            # `list` waits, and raises the errors.
            list(pool.map(lambda name, ready=ready: _patch(cluster, name, ready=ready), names))


def some_pods(pods: Sequence[tuple[str, str]], count: int) -> list[str]:
    """The names of so many of these pods, given with their clusters, which take turns."""
    names = [[name for _, name in own] for _, own in groupby(sorted(pods), key=itemgetter(0))]
    return [name for turn in zip_longest(*names) for name in turn if name is not None][:count]


def states(pods: int, changes: int) -> list[bool]:
    """The successive states of each pod for so many changes in all.

    Raises ValueError: they would not all end ready.
    """
    rounds, rest = divmod(changes, pods)
    if rest or rounds % 2:
        raise ValueError(f"{changes} changes of {pods} pods do not end where they began")
    return [False, True] * (rounds // 2)


def _patch(cluster: Cluster, pod: str, *, ready: bool) -> None:
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": moment()}
    cluster.request(
        "PATCH",
        core(NAMESPACE, "pods", f"{pod}/status"),
        body={"status": {"conditions": [condition]}},
        content_type="application/strategic-merge-patch+json",
        timeout=30.0,
    )
