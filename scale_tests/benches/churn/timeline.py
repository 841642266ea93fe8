"""What was seen while faults were done, and what follows from it.

Times are in seconds since the recorder began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scale_tests.cluster import views
from scale_tests.cluster.nodes import NodeStatus
from scale_tests.cluster.partisan import ClusterStatus
from scale_tests.measure.slopes import slopes

_ENOUGH = 0.9
"""The share of the survivors that has to answer for a look to tell of their links."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One look: the operator's status, and right after it the words of the nodes that answered."""

    seconds: float
    cluster: ClusterStatus
    nodes: tuple[NodeStatus, ...]

    @property
    def components(self) -> int:
        """The components that the nodes' own views make."""
        return len(views.components({n.name: frozenset(n.active) for n in self.nodes}))

    @property
    def whole(self) -> bool:
        """Whether operator and nodes agree: all are there and joined, in one component."""
        wanted = self.cluster.replicas_wanted
        joined = sum(node.joined for node in self.nodes)
        return self.cluster.steady and joined == wanted and self.components == 1

    @property
    def values(self) -> tuple[int, int]:
        """The smallest and the largest count that a replica holds."""
        values = [node.value for node in self.nodes]
        return (min(values), max(values)) if values else (0, 0)

    @property
    def accounted(self) -> int:
        """What all counters have to come to: all increments made, but for those lost."""
        run = self.cluster.workload
        return run.increments_sum - run.lost_increments

    @property
    def told_partitioned(self) -> bool:
        """Whether the status says that the overlay is in pieces."""
        condition = self.cluster.condition("OverlayConnected")
        return condition is not None and condition.reason == "Partitioned"


@dataclass(kw_only=True)
class Phase:
    """One fault, from its beginning until nothing of it is left; filled in as it goes on."""

    name: str
    kind: str
    """`calm`, `kill`, `churn` or `partition`."""
    at: float
    lives: Mapping[str, int]
    """Each node's incarnation when it began."""
    victims: list[str] = field(default_factory=list)
    """Pods that were killed, in this order."""
    sides: tuple[frozenset[str], frozenset[str]] | None = None
    until: float | None = None
    """When the fault itself was over: at once with a kill, when healed with a partition."""
    whole_at: float | None = None
    """When all nodes were there again, in one component."""
    accounted_at: float | None = None
    """When every replica held all that had been counted until `whole_at`, and no more than that
    which had been counted meanwhile."""

    def survivors(self, sample: Sample) -> dict[str, NodeStatus]:
        """The nodes of a sample that the fault has not killed and that still live as they did."""
        victims = set(self.victims)
        return {
            node.name: node
            for node in sample.nodes
            if node.name not in victims and self.lives.get(node.name) == node.incarnation
        }

    def reach(self, sample: Sample) -> float | None:
        """The largest share of the survivors that is connected, over links that carry.

        None where too few of them answered to tell: a machine that has more to do than it can is
        silent for a while, and that is no partition.
        """
        survivors = self.survivors(sample).keys()
        if len(survivors) < _ENOUGH * (len(self.lives) - len(self.victims)):
            return None
        found = views.components(
            {n.name: self._carrying(n.name, n.active, sample) for n in sample.nodes}
        )
        largest = max((len(survivors & component) for component in found), default=0)
        return largest / max(1, len(survivors))

    def _carrying(self, name: str, active: Sequence[str], sample: Sample) -> frozenset[str]:
        """A node's links but those across the cut, which its ends believe in for a while."""
        cut = self.until is None or sample.seconds < self.until
        if self.sides is None or not cut:
            return frozenset(active)
        own = next((side for side in self.sides if name in side), frozenset[str]())
        return own & frozenset(active)

    def restarted(self, sample: Sample) -> tuple[str, ...]:
        """Nodes that nobody killed and that live another life now than when the fault began."""
        present = {node.name: node.incarnation for node in sample.nodes}
        return tuple(
            name
            for name, incarnation in sorted(self.lives.items())
            if name not in self.victims and present.get(name, incarnation) != incarnation
        )


def phase_at(phases: Sequence[Phase], seconds: float) -> Phase | None:
    """The phase that had begun last; none before the first."""
    return next((phase for phase in reversed(phases) if phase.at <= seconds), None)


def within(samples: Sequence[Sample], start: float, end: float | None) -> list[Sample]:
    """The samples of a span of time, its ends included."""
    return [s for s in samples if start <= s.seconds and (end is None or s.seconds <= end)]


@dataclass(frozen=True)
class Sent:
    """Bytes sent by all nodes since the recorder began, at one time."""

    seconds: float
    frames: int
    """Of all channels, as frames."""
    payload: int
    """CRDT values and parts of them."""


def sent(samples: Sequence[Sample]) -> list[Sent]:
    """What had been sent at each sample.

    A node's counters start again at 0 with its process; what it had sent before stays counted.
    """
    totals = [0, 0]
    last: dict[str, tuple[int, tuple[int, int]]] = {}
    line: list[Sent] = []
    for sample in samples:
        for node in sample.nodes:
            now = _sent_by(node)
            incarnation, before = last.get(node.name, (node.incarnation, now))
            start = before if incarnation == node.incarnation else (0, 0)
            totals = [t + n - s for t, n, s in zip(totals, now, start, strict=True)]
            last[node.name] = (node.incarnation, now)
        line.append(Sent(sample.seconds, *totals))
    return line


def _sent_by(node: NodeStatus) -> tuple[int, int]:
    return sum(c.sent_bytes for _, c in node.channels), node.sync_payload_bytes


def rates(line: Sequence[Sent], *, window_seconds: float = 5.0) -> Iterator[tuple[float, float]]:
    """Frames per second, in bytes, against time, over a window that smooths the jitter."""
    return slopes([(point.seconds, point.frames) for point in line], window_seconds)
