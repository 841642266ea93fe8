"""An observation of a cluster: the answers of the API server and the nodes, as plain values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from partisan_operator.children import naming
from partisan_operator.children.child import owned_by
from partisan_operator.models import PartisanCluster
from partisan_operator.observe.certificates import Issued, Store
from partisan_operator.observe.graph import OverlayGraph, analyse
from partisan_operator.observe.report import NodeReport

REPORT_LIFETIME = 10.0
"""Seconds for which a node's last report replaces a missing one. Shorter, and one slow answer makes
a cluster appear incomplete; longer, and a dead node appears alive."""


class PodMonitors(Enum):
    """Whether a cluster can have a PodMonitor."""

    UNKNOWN = "not observed yet"
    UNAVAILABLE = "the API server does not serve the kind, or does not permit it to this operator"
    AVAILABLE = "the kind is served"


class SecretState(Enum):
    """State of the Secret with the token or the bearer, without its contents."""

    UNKNOWN = "not read"
    ABSENT = "there is no Secret"
    LOST = "there is no Secret, and pods run with what it held"
    FOREIGN = "another object controls the Secret"
    INVALID = "the Secret holds no valid value"
    UNOWNED = "the Secret holds a value, and nothing controls it"
    VALID = "the Secret holds a value, and is the cluster's"


@dataclass(frozen=True)
class SecretSeen:
    """A Secret with the token or the bearer."""

    state: SecretState = SecretState.UNKNOWN
    uid: str = ""


@dataclass(frozen=True)
class Trust:
    """How the operator verifies nodes that serve TLS."""

    authorities: str
    """PEM text, as under `ca.crt` of Secrets; empty where there is none yet."""

    server_name: str
    """The DNS name that the certificates of all nodes bear."""


@dataclass(frozen=True)
class ShardState:
    """A live StatefulSet of the cluster."""

    index: int
    name: str
    uid: str
    wanted: int
    """`spec.replicas`."""

    exists: int
    """Pods that exist."""

    ready: int
    updated: int
    """Pods of the newest revision. Meaningless until `settled`."""

    revision: str
    """The newest revision."""

    settled: bool
    """Whether the StatefulSet controller has seen the newest spec."""

    @property
    def rolling(self) -> bool:
        """Whether some pods may not be of the newest revision."""
        return not self.settled or self.updated < self.exists

    @classmethod
    def of(cls, index: int, manifest: Mapping[str, Any]) -> "ShardState":
        """Read a shard from the JSON form of its StatefulSet."""
        metadata, status = manifest["metadata"], manifest.get("status") or {}
        return cls(
            index=index,
            name=metadata["name"],
            uid=metadata["uid"],
            wanted=manifest["spec"].get("replicas", 0),
            exists=status.get("replicas", 0),
            ready=status.get("readyReplicas", 0),
            updated=status.get("updatedReplicas", 0),
            revision=status.get("updateRevision", ""),
            settled=status.get("observedGeneration") == metadata.get("generation"),
        )


@dataclass(frozen=True)
class Endpoint:
    """A pod's address, as its Service publishes it."""

    pod: str
    uid: str
    """The pod's uid: a successor has the name, and may have the address, of its predecessor."""

    address: str
    ready: bool
    bearer: bool = True
    """Whether the pod accepts the bearer, or else the cluster's token."""

    trust: Trust | None = None
    """For a pod that serves TLS."""

    zone: str = ""
    """The zone of the pod's Kubernetes node; empty where it has none."""


@dataclass(frozen=True)
class PodRevision:
    """The properties of a pod that matter to a rollout. The pod is not terminating."""

    name: str
    uid: str
    owner: str
    """Uid of the controller."""

    revision: str
    pending: bool
    """Whether no container of it has ever run: such a pod has no state to lose."""

    bearer: bool = True
    """Whether the pod mounts the bearer."""


@dataclass(frozen=True)
class Seen:
    """A node's report and when it came."""

    report: NodeReport
    uid: str
    """Uid of the pod that gave it."""

    at: datetime


@dataclass(frozen=True)
class Observation:
    """The observed state of a cluster at one time."""

    at: datetime
    live: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    """Live children by kind and name, those of other owners included."""

    complete: bool = False
    """Whether `live` holds children of all kinds, or StatefulSets only."""

    token: SecretSeen = SecretSeen()
    bearer: SecretSeen = SecretSeen()
    trust: Trust | None = None
    """How nodes that serve TLS are verified; None without TLS."""

    monitors: PodMonitors = PodMonitors.UNKNOWN
    """From the last complete observation."""

    tls: Store | Issued | None = None
    """State of the nodes' certificate, where the operator is responsible for it. From the previous
    observation, unless that one required an action or this one is `complete`."""

    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    """By pod name, without terminating pods."""

    seen: Mapping[str, Seen] = field(default_factory=dict)
    """Reports by pod name, of the nodes that answered."""

    failures: Mapping[str, str] = field(default_factory=dict)
    """The reasons of pods that did not answer this time."""

    pods: tuple[PodRevision, ...] | None = None
    """The pods, where a rollout may be under way; else None."""

    _graphs: dict[int, OverlayGraph] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By number of wanted nodes, which differs only while a scale-down is rejected."""

    def graph(self, cluster: PartisanCluster) -> OverlayGraph:
        """Return the overlay's graph among the wanted nodes that answered; computed once."""
        replicas = cluster.spec.replicas
        if replicas not in self._graphs:
            reports = self.reports(naming.pod_names(cluster.name, replicas))
            views = {name: report.overlay.active for name, report in reports.items()}
            self._graphs[replicas] = analyse(views)
        return self._graphs[replicas]

    def rolling(self, cluster: PartisanCluster) -> bool:
        """Whether some pods may not be of the newest revision."""
        return any(shard.rolling for shard in self.shards(cluster))

    def available(self) -> frozenset[str]:
        """Return the uids of pods that are ready and whose nodes have joined the overlay."""
        return frozenset(
            endpoint.uid
            for name, endpoint in self.endpoints.items()
            if endpoint.ready
            and name in self.seen
            and self.seen[name].uid == endpoint.uid
            and self.seen[name].report.overlay.joined
        )

    def without_children(self) -> "Observation":
        """Return the StatefulSets and addresses, for an observation of the nodes alone."""
        sets = {key: item for key, item in self.live.items() if key[0] == "StatefulSet"}
        return replace(self, live=sets, complete=False, pods=None)

    def silent(self) -> dict[str, str]:
        """Return the ready pods without a report, and the reasons."""
        return {
            pod: why
            for pod, why in self.failures.items()
            if pod not in self.seen and pod in self.endpoints and self.endpoints[pod].ready
        }

    def shards(self, cluster: PartisanCluster) -> tuple[ShardState, ...]:
        """Return the cluster's own StatefulSets, lowest ordinals first.

        By their names: users can change labels, and a change of these is to be repaired.
        """
        states = (
            ShardState.of(index, manifest)
            for (kind, name), manifest in self.live.items()
            if kind == "StatefulSet"
            and owned_by(manifest, cluster.uid)
            and (index := naming.shard_index(cluster.name, name)) is not None
        )
        return tuple(sorted(states, key=lambda shard: shard.index))

    def unready(self, cluster: PartisanCluster) -> list[str]:
        """Return the names of pods that are missing or not ready, lowest ordinals first."""
        return [
            name
            for name in naming.pod_names(cluster.name, cluster.spec.replicas)
            if name not in self.endpoints or not self.endpoints[name].ready
        ]

    def unsettled(self, cluster: PartisanCluster) -> bool:
        """Whether some object is not as wanted, or some node did not answer.

        A StatefulSet may report a pod before its EndpointSlice does: both must.
        """
        shards = self.shards(cluster)
        return bool(
            self.failures
            or self.unready(cluster)
            or self.wanted_pods(cluster) != cluster.spec.replicas
            or any(not shard.settled or shard.ready != shard.wanted for shard in shards)
        )

    def wanted_pods(self, cluster: PartisanCluster) -> int:
        """Return the number of pods that the StatefulSets request."""
        return sum(shard.wanted for shard in self.shards(cluster))

    def ordinals(self, cluster: PartisanCluster) -> int:
        """Return the number of ordinals that cover all requested pods.

        Equal to the number of pods, unless another client scaled a StatefulSet.
        """
        shards = (shard for shard in self.shards(cluster) if shard.wanted)
        return max((shard.index * naming.SHARD_SIZE + shard.wanted for shard in shards), default=0)

    def reports(self, expected: Iterable[str]) -> dict[str, NodeReport]:
        """Return the reports of the expected nodes, by name."""
        return {pod: self.seen[pod].report for pod in expected if pod in self.seen}


def merge_reports(
    earlier: Mapping[str, Seen],
    fresh: Mapping[str, Seen],
    endpoints: Mapping[str, Endpoint],
    now: datetime,
) -> dict[str, Seen]:
    """Return the fresh reports, and recent earlier ones of nodes that did not answer this time.

    An earlier report counts only while its pod exists.
    """
    kept = {
        pod: seen
        for pod, seen in earlier.items()
        if pod in endpoints
        and endpoints[pod].uid == seen.uid
        # A report of the future is of unknown age: the clock was set back.
        and 0 <= (now - seen.at).total_seconds() <= REPORT_LIFETIME
    }
    return kept | dict(fresh)
