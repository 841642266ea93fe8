"""One sample of a run, and what follows from a row of them."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.nodes import read_nodes
from scale_tests.cluster.partisan import Pods, read_cluster, read_pods
from scale_tests.cluster.sampler import Observation, totals

Line = list[tuple[float, float]]
"""Points of seconds since the apply, and a value."""


@dataclass(frozen=True, kw_only=True)
class Sample(Observation):
    """An observation, with the API server's pods."""

    pods: Pods

    @property
    def converged(self) -> int:
        """Nodes that know that every node has counted to the end."""
        return sum(node.converged for node in self.nodes)

    @property
    def finished(self) -> bool:
        """Whether the run has ended, as operator and nodes agree."""
        return self.cluster.finished and self.converged == self.cluster.replicas_wanted

    def progress(self) -> Hashable:
        """Figures that change all the time while a run goes on."""
        status = self.cluster
        counted = (self.pods.created, self.pods.ready, self.joined, self.converged, self.values)
        reported = (status.ready, status.joined, status.components, status.workload, status.phase)
        return (counted, reported)


def sampling(cluster: Cluster, namespace: str, name: str) -> Callable[[float], Sample]:
    """A function that samples a cluster, through the API server alone."""

    def take(seconds: float) -> Sample:
        pods = read_pods(cluster, namespace, name)
        nodes = tuple(read_nodes(cluster, namespace, pods.names_running))
        status = read_cluster(cluster, namespace, name)
        return Sample(seconds=seconds, pods=pods, cluster=status, nodes=nodes)

    return take


def sent_bytes(samples: Sequence[Sample]) -> dict[str, Line]:
    """Bytes sent by all nodes on each channel since the apply, against time."""
    lines: dict[str, Line] = {}
    sums = totals(samples, lambda node: {name: c.sent_bytes for name, c in node.channels})
    for seconds, total in sums:
        for channel, sent in total.items():
            lines.setdefault(channel, []).append((seconds, sent))
    return lines
