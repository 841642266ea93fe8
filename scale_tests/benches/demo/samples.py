"""What was observed of a run at one time, and what follows from a row of such observations."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from scale_tests.cluster.nodes import NodeStatus
from scale_tests.cluster.partisan import ClusterStatus, Pods
from scale_tests.measure.slopes import slopes


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One observation: the API server's pods, the operator's status, the nodes' own words."""

    seconds: float
    """Since the apply, on the observer's monotonic clock."""
    pods: Pods
    cluster: ClusterStatus
    nodes: tuple[NodeStatus, ...]
    """The nodes that answered."""

    @property
    def joined(self) -> int:
        """Nodes that say of themselves that they are in the overlay."""
        return sum(node.joined for node in self.nodes)

    @property
    def converged(self) -> int:
        """Nodes that know that every node has counted to the end."""
        return sum(node.converged for node in self.nodes)

    @property
    def values(self) -> tuple[int, int]:
        """The smallest and the largest count that a replica holds."""
        values = [node.value for node in self.nodes]
        return (min(values), max(values)) if values else (0, 0)

    def progress(self) -> Hashable:
        """What must not stand still for long while a run goes on."""
        status = self.cluster
        counted = (self.pods.created, self.pods.ready, self.joined, self.converged, self.values)
        told = (status.ready, status.joined, status.components, status.workload, status.phase)
        return (counted, told)


@dataclass(frozen=True)
class Point:
    """A value at a time, in seconds since the apply."""

    seconds: float
    value: float


def replica_values(samples: Sequence[Sample]) -> dict[str, list[Point]]:
    """Each node's replica of the counter, against time."""
    lines: dict[str, list[Point]] = {}
    for sample in samples:
        for node in sample.nodes:
            lines.setdefault(node.name, []).append(Point(sample.seconds, node.value))
    return lines


def sent_bytes(samples: Sequence[Sample]) -> dict[str, list[Point]]:
    """Bytes sent by all nodes on each channel since the apply, against time.

    A node's counters start again at 0 with its process; what it had sent before stays counted.
    """
    lines: dict[str, list[Point]] = {}
    totals: dict[str, int] = {}
    last: dict[tuple[str, str], tuple[int, int]] = {}
    for sample in samples:
        for name, incarnation, channel, sent in _sent(sample):
            before, counted = last.get((name, channel), (incarnation, 0))
            start = counted if before == incarnation else 0
            totals[channel] = totals.get(channel, 0) + sent - start
            last[name, channel] = (incarnation, sent)
        for channel, total in totals.items():
            lines.setdefault(channel, []).append(Point(sample.seconds, total))
    return lines


def rates(line: Sequence[Point], *, window_seconds: float = 3.0) -> list[Point]:
    """The slope of a growing line per second, over a window that smooths the sampling's jitter."""
    points = [(point.seconds, point.value) for point in line]
    return [Point(seconds, rate) for seconds, rate in slopes(points, window_seconds)]


def _sent(sample: Sample) -> Iterator[tuple[str, int, str, int]]:
    for node in sample.nodes:
        for channel, counters in node.channels:
            yield node.name, node.incarnation, channel, counters.sent_bytes
