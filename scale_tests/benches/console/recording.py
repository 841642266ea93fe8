"""A cluster made from a seed: what the operator would observe of it, one reconcile after another.

The overlay is synthetic: a connected random graph in which a node has at most six links, as in
HyParView. Everything after the nodes' reports is the operator's own: status, Events, traffic.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from partisan_operator.children import naming
from partisan_operator.children.node_config import revision, run_id
from partisan_operator.console.hub import Hub
from partisan_operator.decide.actions import Plan
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.observe.observation import Endpoint, Observation, Seen
from partisan_operator.observe.report import NodeReport
from partisan_operator.observe.traffic import aggregate, channel_names
from partisan_operator.status.announcements import announcements
from partisan_operator.status.run import Ledger
from partisan_operator.status.status import Findings, status_of

from scale_tests.host.documents import data_of
from scale_tests.host.templates import filled

NAME, SEED = "ads", 1
DEGREE = 6
"""Links of a node, at most."""

PERIOD = 6.0
"""Seconds between two reconciles of an open cluster of 1,024 nodes."""

MESSAGES = 8
"""Mean number of messages from one end of a link to the other between two reconciles."""

INCREMENTS = 60
"""Increments of each node in the run."""

_STATEFUL_SET = data_of(__file__)


@dataclass
class Node:
    """A simulated node."""

    peers: set[str] = field(default_factory=set)
    incarnation: int = 1
    kind: str = "hyparview"
    previous: str | None = None
    present: bool = True
    joined: bool = True
    sent: Counter[str] = field(default_factory=Counter)
    """Messages by peer."""

    age: int = 0
    """Steps since it started."""


class Recording:
    """A cluster, a hub that learns of it, and the faults that a test or a benchmark asks for."""

    def __init__(self, hub: Hub, *, nodes: int, links: int) -> None:
        """Makes the cluster, joined, and its run under way."""
        self.hub, self.random = hub, random.Random(SEED)
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.spec: dict[str, Any] = {
            "replicas": nodes,
            "channels": [{"name": "default"}, {"name": "gossip", "monotonic": True}],
            "overlay": {"kind": "HyParView"},
            "workload": {"adCounter": {"ads": 1, "impressions": nodes * INCREMENTS}},
        }
        self.status, self.ledger, self.seen = PartisanClusterStatus(), Ledger(), dict[str, Seen]()
        self.divided = False
        self.nodes = {pod: Node() for pod in naming.pod_names(NAME, nodes)}
        names = list(self.nodes)
        self.random.shuffle(names)
        for left, right in zip(names, names[1:] + names[:1], strict=True):
            self.link(left, right)
        while self.links < links:
            self.link(*self.random.sample(names, 2))
        self.step()

    @property
    def cluster(self) -> PartisanCluster:
        """The cluster as the API server has it."""
        metadata = {
            **{"namespace": "default", "name": NAME, "uid": f"uid-{NAME}"},
            **{"generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
        }
        status = self.status.to_wire()
        return PartisanCluster.from_wire(
            {"metadata": metadata, "spec": self.spec, "status": status}
        )

    @property
    def links(self) -> int:
        """Number of links."""
        return sum(len(node.peers) for node in self.nodes.values()) // 2

    def link(self, left: str, right: str) -> None:
        """Links two nodes, if both have a free place."""
        ends = self.nodes[left], self.nodes[right]
        if left != right and all(len(end.peers) < DEGREE for end in ends):
            ends[0].peers.add(right)
            ends[1].peers.add(left)

    def unlink(self, left: str, right: str) -> None:
        """Removes a link."""
        self.nodes[left].peers.discard(right)
        self.nodes[right].peers.discard(left)

    def kill(self, *names: str) -> None:
        """Removes pods; their successors start with the next step and join with the one after."""
        for name in names:
            for peer in list(self.nodes[name].peers):
                self.unlink(name, peer)
            before = self.nodes[name]
            self.nodes[name] = Node(
                incarnation=before.incarnation + 1, kind=before.kind, present=False, joined=False
            )

    def partition(self, size: int) -> None:
        """Removes all links between this many nodes, which are connected, and the others."""
        self.divided = True
        side = [next(iter(self.nodes))]
        for name in side:
            news = sorted(self.nodes[name].peers - set(side))
            side += news[: size - len(side)]
        for name in side:
            for peer in self.nodes[name].peers - set(side):
                self.unlink(name, peer)

    def heal(self) -> None:
        """Fills free places of all nodes with random links."""
        self.divided = False
        free = [name for name, node in self.nodes.items() if len(node.peers) < DEGREE]
        for left in free:
            self._join(left, free)

    def switch(self, kind: str) -> None:
        """Gives the cluster another overlay, which its nodes join over the next steps."""
        self.spec |= {"overlay": {"kind": kind}}

    def step(self, seconds: float = PERIOD) -> None:
        """Lets time pass, and reports what one reconcile finds."""
        self.now += timedelta(seconds=seconds)
        for name, node in self.nodes.items():
            node.age += 1
            self._advance(name, node)
            for peer in node.peers:
                # As independent messages fluctuate.
                node.sent[peer] += max(0, round(self.random.gauss(MESSAGES, MESSAGES**0.5)))
        self.report()

    def steps(self) -> Iterator[None]:
        """Endless changes: kills, a switch of the overlay, a partition, and quiet in between."""
        kinds = ["Cyclon", "HyParView"]
        while True:
            names = list(self.nodes)
            self.kill(*self.random.sample(names, 8))
            yield from self._some(3)
            self.switch(kinds[0])
            kinds.reverse()
            yield from self._some(3)
            self.partition(len(names) // 8)
            yield from self._some(2)
            self.heal()
            yield from self._some(2)

    def report(self) -> None:
        """Hands one reconcile to the hub."""
        cluster = self.cluster
        earlier, observation = self.seen, self._observation(cluster)
        self.seen = dict(observation.seen)
        plan = Plan((), 0, None, cluster.spec.replicas, None)
        channels = aggregate(channel_names(cluster.spec), earlier, self.seen)
        findings = Findings(observation, plan, self.ledger, channels=channels)
        status, self.ledger = status_of(cluster, findings)
        for event in announcements(self.status, status):
            self.hub.announced(cluster, event)
        self.status = status
        self.hub.observed(cluster, status, observation)

    def _some(self, steps: int) -> Iterator[None]:
        for _ in range(steps):
            self.step()
            yield

    def _advance(self, name: str, node: Node) -> None:
        wanted = self.spec["overlay"]["kind"].lower()
        if not node.present:
            node.present, node.age = True, 0
        elif not node.joined and node.age:
            node.joined, node.kind, node.previous = True, wanted, None
        elif node.previous:
            node.previous = None
        elif node.kind != wanted and self.random.random() < 0.7:
            node.kind, node.previous = wanted, node.kind
        if node.joined and len(node.peers) < DEGREE // 2 and not self.divided:
            self._join(name, [peer for peer, other in self.nodes.items() if other.joined])

    def _join(self, name: str, candidates: list[str]) -> None:
        for peer in self.random.sample(candidates, min(len(candidates), 4 * DEGREE)):
            self.link(name, peer)

    def _observation(self, cluster: PartisanCluster) -> Observation:
        present = {name: node for name, node in self.nodes.items() if node.present}
        following = revision(cluster)
        endpoints = {
            name: Endpoint(
                name, f"{name}-{node.incarnation}", "", node.joined, zone=f"zone-{index % 3}"
            )
            for index, (name, node) in enumerate(present.items())
        }
        seen = {
            name: Seen(self._report(name, node, cluster, following), endpoints[name].uid, self.now)
            for name, node in present.items()
            if node.age
        }
        return Observation(
            at=self.now, live=_stateful_sets(cluster), endpoints=endpoints, seen=seen
        )

    def _report(
        self, name: str, node: Node, cluster: PartisanCluster, following: str
    ) -> NodeReport:
        sent = node.sent.total()
        traffic = {"sent_messages": sent, "sent_bytes": sent * 200}
        counted = min(INCREMENTS, node.age * int(PERIOD))
        return NodeReport.model_validate(
            {
                **{"node": name, "incarnation": node.incarnation},
                "revision": following if node.kind == self.spec["overlay"]["kind"].lower() else "",
                "overlay": {
                    **{"kind": node.kind, "former": node.previous, "joined": node.joined},
                    "active": sorted(node.peers),
                },
                "channels": {
                    "overlay": {"sent_messages": node.age * 3, "sent_bytes": node.age * 240},
                    "gossip": traffic,
                    "default": {"dropped": node.incarnation - 1},
                },
                "traffic": {
                    "peers": {
                        peer: {
                            "gossip": {
                                "sent_messages": node.sent[peer],
                                "sent_bytes": node.sent[peer] * 200,
                            }
                        }
                        for peer in node.peers
                    }
                },
                "workload": {
                    **{"kind": "adcounter", "run": run_id(cluster.spec.workload)},
                    **{"phase": "running" if counted < INCREMENTS else "finished"},
                    **{"actor": f"{name}/{node.incarnation}", "increments": counted},
                    "value": counted * len(self.nodes) - self.random.randrange(len(self.nodes)),
                    **{"threshold": INCREMENTS * len(self.nodes), "digest": str(counted)},
                    "started_at": self.now.timestamp() - counted,
                },
                "sync_payload_bytes": sent * 200,
            }
        )


def _stateful_sets(cluster: PartisanCluster) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        ("StatefulSet", shard.name): filled(
            _STATEFUL_SET, shard=shard, label=naming.SHARD_LABEL, uid=cluster.uid
        )
        for shard in naming.shards_of(cluster.name, cluster.spec.replicas)
    }
