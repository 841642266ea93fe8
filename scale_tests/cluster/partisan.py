"""A PartisanCluster's status as the operator reports it, and its pods.

What nodes report is in `nodes`, so that one can be checked against the other.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic.alias_generators import to_camel

from scale_tests.cluster.kube import Cluster, Json, core, holds, partisan_cluster

CLUSTER_LABEL = "partisan.dev/cluster"
SHARD_LABEL = "partisan.dev/shard"
"""The label of every child object of a PartisanCluster: its name."""

CHILDREN = {
    "statefulsets": "apis/apps/v1",
    "pods": "api/v1",
    "services": "api/v1",
    "configmaps": "api/v1",
    "secrets": "api/v1",
    "poddisruptionbudgets": "apis/policy/v1",
    "networkpolicies": "apis/networking.k8s.io/v1",
    "endpointslices": "apis/discovery.k8s.io/v1",
}
"""Every kind of object that belongs to a cluster, with its API."""

SHARD_SIZE = 250
"""Most pods of one StatefulSet, which is part of their names."""


def node_name(cluster: str, ordinal: int) -> str:
    """The name of a cluster's node, and of its pod."""
    shard = ordinal // SHARD_SIZE
    return f"{cluster}-s{shard}-{ordinal}" if shard else f"{cluster}-{ordinal}"


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One condition of a status."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class ChannelRates:
    """The operator's sums over all nodes of one channel; rates are per second."""

    name: str
    messages: int = 0
    bytes: int = 0
    dropped: int = 0
    messages_per_second: float = 0.0
    bytes_per_second: float = 0.0


@dataclass(frozen=True, kw_only=True)
class WorkloadStatus:
    """The operator's report on the ad counter's run."""

    run: str = ""
    phase: str = ""
    value: int = 0
    increments_sum: int = 0
    threshold: int = 0
    overcounting_percent: float = 0.0
    lost_increments: int = 0
    replaced_nodes: int = 0


# A CRD may hold a number as text, because structural schemas discourage floats: it is read as one.
@with_config(ConfigDict(alias_generator=to_camel))
@dataclass(frozen=True, kw_only=True)
class ClusterStatus:
    """The status of a PartisanCluster at one time."""

    name: str
    uid: str
    generation: int
    replicas_wanted: int
    observed_generation: int = 0
    replicas: int = 0
    ready: int = 0
    joined: int = 0
    updated: int = 0
    configured: int = 0
    phase: str = ""
    converged: str = "Unknown"
    overlay: str = ""
    previous_kind: str = ""
    components: int | None = None
    isolated: int | None = None
    mean_degree: float = 0.0
    channels: tuple[ChannelRates, ...] = ()
    workload: WorkloadStatus = field(default_factory=WorkloadStatus)
    timings: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()

    def condition(self, type_: str) -> Condition | None:
        """The condition of this type, if the operator has set it."""
        return next((c for c in self.conditions if c.type == type_), None)

    def is_true(self, type_: str) -> bool:
        """Whether the condition of this type is there and True."""
        condition = self.condition(type_)
        return condition is not None and condition.status == "True"

    @property
    def degraded(self) -> Condition | None:
        """The condition Degraded while it is True, which a user should read."""
        return self.condition("Degraded") if self.is_true("Degraded") else None

    @property
    def current(self) -> bool:
        """Whether the status is of the current spec."""
        return self.observed_generation >= self.generation

    @property
    def steady(self) -> bool:
        """Whether every node wanted is there, ready and joined, in one overlay."""
        wanted = self.replicas_wanted
        return (
            self.current
            and self.replicas == self.ready == self.joined == wanted
            and self.components == 1
        )

    @property
    def reconfigured(self) -> bool:
        """Whether all nodes run the current spec, and nothing of the previous one."""
        return self.steady and self.configured == self.replicas_wanted and not self.previous_kind

    @property
    def finished(self) -> bool:
        """Whether the overlay is whole and the run has ended with equal counters everywhere."""
        return (
            self.steady and self.converged == "True" and self.workload.phase.lower() == "finished"
        )

    @property
    def progress(self) -> Hashable:
        """The figures that change while a cluster forms or counts, without traffic and messages."""
        return (
            self.observed_generation,
            self.replicas,
            self.ready,
            self.joined,
            self.configured,
            self.previous_kind,
            self.components,
            self.phase,
            self.workload,
            tuple((c.type, c.status, c.reason) for c in self.conditions),
        )


_STATUS = TypeAdapter(ClusterStatus)


@dataclass(frozen=True, kw_only=True)
class Pods:
    """The progress of a cluster's pods, and an obstacle to the start of one."""

    created: int
    ready: int
    names_running: tuple[str, ...]
    restarts: int
    waiting: tuple[str, ...]


def cluster_status(item: Json) -> ClusterStatus:
    """The dataclass of a PartisanCluster's JSON. What the operator has not set stays default."""
    status, metadata = item.get("status") or {}, item["metadata"]
    overlay = status.get("overlay") or {}
    return _STATUS.validate_python(
        {
            **status,
            **overlay,
            "name": metadata["name"],
            "uid": metadata["uid"],
            "generation": metadata["generation"],
            "replicasWanted": item["spec"]["replicas"],
            "overlay": overlay.get("kind") or item["spec"]["overlay"]["kind"],
        }
    )


def read_cluster(cluster: Cluster, namespace: str, name: str) -> ClusterStatus:
    """Reads one PartisanCluster. Raises ApiError."""
    return cluster_status(cluster.get(partisan_cluster(namespace, name)))


def read_pods(cluster: Cluster, namespace: str, name: str) -> Pods:
    """Reads the pods of a PartisanCluster, without those that are going. Raises ApiError."""
    items = cluster.list(core(namespace, "pods"), f"{CLUSTER_LABEL}={name}")
    return pods(item for item in items if "deletionTimestamp" not in item["metadata"])


def children(cluster: Cluster, namespace: str, name: str) -> list[str]:
    """All objects that belong to a PartisanCluster, as `kind/name`. Raises ApiError."""
    found = []
    for kind, api in CHILDREN.items():
        for item in cluster.list(f"{api}/namespaces/{namespace}/{kind}"):
            metadata = item["metadata"]
            labels = metadata.get("labels") or {}
            owners = metadata.get("ownerReferences") or ()
            if labels.get(CLUSTER_LABEL) == name or any(
                owner["kind"] == "PartisanCluster" and owner["name"] == name for owner in owners
            ):
                found.append(f"{kind}/{metadata['name']}")
    return found


def read_addresses(cluster: Cluster, namespace: str, name: str) -> dict[str, str]:
    """The addresses of a PartisanCluster's pods that are not terminating. Raises ApiError."""
    return {
        entry["targetRef"]["name"]: entry["addresses"][0]
        for entry in _endpoints(cluster, namespace, name)
        if not (entry.get("conditions") or {}).get("terminating")
    }


def read_ready_names(cluster: Cluster, namespace: str, name: str) -> list[str]:
    """The ready pods of a PartisanCluster. Raises ApiError.

    Their Services publish pods that are not ready, too: `serving` distinguishes them.
    """
    endpoints = _endpoints(cluster, namespace, name)
    return [e["targetRef"]["name"] for e in endpoints if (e.get("conditions") or {}).get("serving")]


def _endpoints(cluster: Cluster, namespace: str, name: str) -> list[Json]:
    """The pods of the EndpointSlices, which are a hundredth of the pods' size."""
    path = f"apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    slices = cluster.list(path, f"{CLUSTER_LABEL}={name},{SHARD_LABEL}")
    entries = [entry for item in slices for entry in item.get("endpoints") or ()]
    return [entry for entry in entries if (entry.get("targetRef") or {}).get("kind") == "Pod"]


def pods(items: Iterable[Json]) -> Pods:
    """Counts pods by their status."""
    items = list(items)
    running = [item for item in items if item["status"].get("phase") == "Running"]
    statuses = [c for item in items for c in item["status"].get("containerStatuses") or ()]
    return Pods(
        created=len(items),
        ready=sum(holds(item, "Ready") for item in items),
        names_running=tuple(sorted(item["metadata"]["name"] for item in running)),
        restarts=sum(c.get("restartCount", 0) for c in statuses),
        waiting=tuple(
            sorted({c["state"]["waiting"]["reason"] for c in statuses if "waiting" in c["state"]})
        ),
    )


def milestones(timings: Mapping[str, str]) -> dict[str, float | None]:
    """The milestones of `status.timings` as seconds since the apply, by the cluster's clock.

    None for one that was not reached.
    """

    def since_apply(milestone: str) -> float | None:
        applied, reached = timings.get("appliedAt"), timings.get(milestone)
        if not applied or not reached:
            return None
        elapsed = datetime.fromisoformat(reached) - datetime.fromisoformat(applied)
        return round(elapsed.total_seconds(), 3)

    return {
        "apply_to_ready": since_apply("readyAt"),
        "apply_to_joined": since_apply("joinedAt"),
        "apply_to_converged": since_apply("convergedAt"),
    }
