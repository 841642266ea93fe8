"""Samples taken while faults were injected, and figures that follow from them.

Times are in seconds since the sampler was made.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import urllib3

from scale_tests.cluster import views
from scale_tests.cluster.nodes import NodeStatus, components, read_nodes, read_nodes_at
from scale_tests.cluster.partisan import read_addresses
from scale_tests.cluster.sampler import Observation, totals
from scale_tests.cluster.subject import Subject

_ENOUGH = 0.9
"""The share of the survivors that must answer for a sample to count for their links."""


class Sample(Observation):
    """One observation."""

    @property
    def components(self) -> int:
        """The components that the nodes' own views make."""
        return components(self.nodes)

    @property
    def whole(self) -> bool:
        """Whether operator and nodes agree: all are there and joined, in one component."""
        return (
            self.cluster.steady
            and self.joined == self.cluster.replicas_wanted
            and self.components == 1
        )

    @property
    def accounted(self) -> int:
        """The target of all counters: all increments made, but for those lost."""
        run = self.cluster.workload
        return run.increments_sum - run.lost_increments

    @property
    def reported_partitioned(self) -> bool:
        """Whether the status says that the overlay is partitioned."""
        condition = self.cluster.condition("OverlayConnected")
        return condition is not None and condition.reason == "Partitioned"

    @property
    def recovery(self) -> Hashable:
        """The figures that change while a cluster recovers; the counter changes all the time."""
        status = self.cluster
        return (
            (status.replicas, status.ready, status.joined, status.components, status.isolated),
            (status.workload.replaced_nodes, status.phase, self.components, len(self.nodes)),
            self.joined,
        )


def sampling(subject: Subject) -> Callable[[float], Sample]:
    """A function that samples a cluster, at its pods' addresses where this machine reaches them."""
    pool = urllib3.PoolManager(
        num_pools=1, retries=False, timeout=urllib3.Timeout(5.0), headers={"connection": "close"}
    )

    def take(seconds: float) -> Sample:
        status = subject.status()
        addresses = read_addresses(subject.cluster, subject.namespace, subject.name)
        nodes = (
            read_nodes_at(addresses, pool)
            if subject.environment.local
            else read_nodes(subject.cluster, subject.namespace, sorted(addresses))
        )
        return Sample(seconds=seconds, cluster=status, nodes=tuple(nodes))

    return take


@dataclass(kw_only=True)
class Phase:
    """One fault, from its beginning until the count is exact; filled in on the way."""

    name: str
    kind: str
    """`calm`, `kill`, `churn` or `partition`."""
    at: float
    incarnations: Mapping[str, int]
    """Each node's incarnation when it began."""
    victims: list[str] = field(default_factory=list)
    """Pods that were killed, in this order."""
    sides: tuple[frozenset[str], frozenset[str]] | None = None
    until: float | None = None
    """When the fault itself was over: at once with a kill, when healed with a partition."""
    whole_at: float | None = None
    """When all nodes were there again, in one component."""
    accounted_at: float | None = None
    """When every replica held all that had been counted until `whole_at`, and no more than made."""

    def survivors(self, sample: Sample) -> dict[str, NodeStatus]:
        """The nodes of a sample that were not killed and are of the same incarnation."""
        victims = set(self.victims)
        return {
            node.name: node
            for node in sample.nodes
            if node.name not in victims and self.incarnations.get(node.name) == node.incarnation
        }

    def reach(self, sample: Sample) -> float | None:
        """The largest share of the survivors that is connected, over links that carry.

        None where too few answered: an overloaded machine is silent, and not partitioned.
        """
        survivors = self.survivors(sample).keys()
        if len(survivors) < _ENOUGH * (len(self.incarnations) - len(self.victims)):
            return None
        found = views.components(
            {n.name: self._carrying(n.name, n.active, sample) for n in sample.nodes}
        )
        largest = max((len(survivors & component) for component in found), default=0)
        return largest / max(1, len(survivors))

    def _carrying(self, name: str, active: Sequence[str], sample: Sample) -> frozenset[str]:
        """A node's links without those across the cut, which its ends keep for a while."""
        cut = self.until is None or sample.seconds < self.until
        if self.sides is None or not cut:
            return frozenset(active)
        own = next((side for side in self.sides if name in side), frozenset[str]())
        return own & frozenset(active)

    def restarted(self, sample: Sample) -> tuple[str, ...]:
        """Nodes that were not killed and are of another incarnation than when the fault began."""
        present = {node.name: node.incarnation for node in sample.nodes}
        return tuple(
            name
            for name, incarnation in sorted(self.incarnations.items())
            if name not in self.victims and present.get(name, incarnation) != incarnation
        )


def phase_at(phases: Sequence[Phase], seconds: float) -> Phase | None:
    """The phase that had begun last; none before the first."""
    return next((phase for phase in reversed(phases) if phase.at <= seconds), None)


def within(samples: Sequence[Sample], start: float, end: float | None) -> list[Sample]:
    """The samples of a span of time, its ends included."""
    return [s for s in samples if start <= s.seconds and (end is None or s.seconds <= end)]


def sent(samples: Sequence[Sample]) -> list[tuple[float, Counter[str]]]:
    """Bytes sent by all nodes since the apply, at each sample: `frames`, and CRDT `payload`."""
    return totals(
        samples,
        lambda node: {
            "frames": sum(channel.sent_bytes for _, channel in node.channels),
            "payload": node.sync_payload_bytes,
        },
    )
