"""Checks of a cluster after faults, and during a partition."""

from scale_tests.cluster.nodes import components
from scale_tests.cluster.partisan import ClusterStatus
from scale_tests.cluster.subject import Subject


def wait_partitioned(subject: Subject) -> ClusterStatus:
    """Waits until it reports its overlay as partitioned in two, with all nodes healthy."""
    # A node whose neighbours were all on the other side is isolated until it has found others.
    # After that each half runs on, and its nodes are not reported as lost.
    status = subject.wait("partition reported, all nodes joined", _halved)
    connected = status.condition("OverlayConnected")
    assert connected is not None
    assert (connected.status, connected.reason) == ("False", "Partitioned")
    assert connected.message.startswith("2 components")
    return status


def _halved(status: ClusterStatus) -> bool:
    return status.components == 2 and status.joined == status.ready == status.replicas_wanted


def wait_replaced(subject: Subject, nodes: int) -> None:
    """Waits until it is steady, and its run, which goes on, has lost so many nodes and no more."""
    status = subject.wait(
        f"{nodes} replaced", lambda s: s.steady and s.workload.replaced_nodes >= nodes
    )
    assert (status.workload.phase, status.workload.replaced_nodes) == ("Running", nodes)


def assert_accounted(subject: Subject, status: ClusterStatus) -> None:
    """One overlay, equal counters, and every increment either counted once or reported lost.

    `status` is that of the finished run.
    """
    nodes = subject.nodes()
    run = status.workload
    assert components(nodes) == 1
    assert {node.value for node in nodes} == {run.value}
    assert len({node.digest for node in nodes}) == 1
    assert run.value >= run.threshold
    assert run.value + run.lost_increments == run.increments_sum
    # The counter holds the increments that running nodes report, under their own names.
    for pod in subject.pods():
        workload = subject.node_json(pod)["workload"]
        assert workload["entry_of"].get(workload["actor"], 0) == workload["increments"]
