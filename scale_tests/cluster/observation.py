"""One cluster at one time, as operator and nodes report it, and what follows from many."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scale_tests.cluster.nodes import NodeStatus
from scale_tests.cluster.partisan import ClusterStatus


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The operator's status, and right after it the reports of the nodes that answered."""

    seconds: float
    """Since the sampler was made."""

    cluster: ClusterStatus
    nodes: tuple[NodeStatus, ...]

    @property
    def joined(self) -> int:
        """Nodes that report that they are in the overlay."""
        return sum(node.joined for node in self.nodes)

    @property
    def values(self) -> tuple[int, int]:
        """The smallest and the largest count that a replica holds."""
        values = [node.value for node in self.nodes]
        return (min(values), max(values)) if values else (0, 0)


def totals(
    observations: Sequence[Observation], counters: Callable[[NodeStatus], Mapping[str, int]]
) -> list[tuple[float, Counter[str]]]:
    """Counters summed over all nodes, with the seconds of each observation.

    A node's counters start again at 0 with its process; the counts of its previous incarnations
    stay in the sum.
    """
    sums: Counter[str] = Counter()
    last: dict[str, tuple[int, Mapping[str, int]]] = {}
    line = []
    for observation in observations:
        for node in observation.nodes:
            incarnation, before = last.get(node.name, (node.incarnation, {}))
            now = counters(node)
            sums.update(now)
            if incarnation == node.incarnation:
                sums.subtract(before)
            last[node.name] = (node.incarnation, now)
        line.append((observation.seconds, sums.copy()))
    return line


def slopes(line: Sequence[tuple[float, float]], window: float) -> Iterator[tuple[float, float]]:
    """The rise of a line per unit of time, against time, over the `window` before it."""
    start = 0
    for end, (time, value) in enumerate(line):
        while start + 1 < end and time - line[start + 1][0] >= window:
            start += 1
        elapsed = time - line[start][0]
        if elapsed > 0:
            yield time, (value - line[start][1]) / elapsed
