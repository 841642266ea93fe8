"""`kubectl drain` of the node, the operator on it included."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.partisan import CLUSTER_LABEL
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.outcomes import assert_accounted
from scale_tests.host.commands import CommandError
from scale_tests.localkube.settings import NODE_NAME

pytestmark = pytest.mark.alone
"""Drains the only Kubernetes node, which the operator runs on too."""

NODES = 6


@pytest.fixture(autouse=True)
def the_only_node(environment: Environment, cluster: Cluster) -> None:
    if not environment.local or len(cluster.list("api/v1/nodes")) > 1:
        pytest.skip("drains the only node of a local cluster")


@contextmanager
def drained(environment: Environment, *arguments: str) -> Iterator[Callable[[], str]]:
    """Yields what drains the node and returns kubectl's output; uncordons the node at the end."""
    options = ("--ignore-daemonsets", "--delete-emptydir-data", *arguments)

    def drain() -> str:
        try:
            return operator.kubectl(environment, "drain", NODE_NAME, *options)
        except CommandError as error:
            return error.output

    try:
        yield drain
    finally:
        operator.kubectl(environment, "uncordon", NODE_NAME)


def test_a_drain_stops_at_the_budget_and_loses_no_increment(
    new_subject: NewSubject, environment: Environment, cluster: Cluster
) -> None:
    """There is no other node: evicted pods stay pending, so the budget allows no more evictions."""
    subject = new_subject("drained")
    rollout = {"maxUnavailable": 2}
    workload = {"adCounter": counter(NODES, LASTING)}
    subject.apply(manifest("drained", NODES, workload=workload, rollout=rollout))
    subject.wait_steady()
    budget = f"apis/policy/v1/namespaces/{subject.namespace}/poddisruptionbudgets/drained"
    wait_for("the budget", lambda: cluster.find(budget), bool)
    subject.wait_counted(NODES * 5)
    before = subject.uids()
    with drained(environment, "--timeout=15s") as drain:
        # Again, where a busy machine has not come to evict two.
        wait_for(
            "a drain that stops at the budget",
            lambda: (drain(), two_pending(subject)),
            lambda found: "violate the pod's disruption budget" in found[0] and found[1],
        )
        subject.wait_degraded("Unschedulable", "drained-")
        left = (NODES, NODES - 2, NODES - 2, 1)
        during = subject.wait(
            "two gone", lambda s: (s.replicas, s.ready, s.joined, s.components) == left
        )
        assert during.workload.lost_increments == 0
    subject.wait_healthy(NODES)
    status = subject.end_run()
    after = subject.uids()
    assert sum(after[name] != uid for name, uid in before.items()) == 2
    assert set(subject.restarts().values()) == {0}
    assert (status.workload.replaced_nodes, status.workload.lost_increments) == (2, 0)
    assert_accounted(subject, status)
    wait_for("both operators", lambda: operator.operator_pods(cluster), lambda p: len(p) == 2)


def two_pending(subject: Subject) -> bool:
    """Whether two of its pods wait for a Kubernetes node."""
    return sum("nodeName" not in pod["spec"] for pod in subject.pods().values()) == 2


def test_a_fully_drained_cluster_recovers(
    new_subject: NewSubject, environment: Environment
) -> None:
    subject = new_subject("emptied")
    subject.apply(manifest("emptied", 4, rollout={"maxUnavailable": "100%"}))
    ended = subject.wait_finished()
    before = subject.uids()
    selector = f"--pod-selector={CLUSTER_LABEL}=emptied"
    with drained(environment, "--timeout=15m", selector) as drain:
        assert f"node/{NODE_NAME} drained" in drain()
        subject.wait_degraded("Unschedulable")
        status = subject.wait("all gone", lambda s: (s.replicas, s.ready, s.joined) == (4, 0, 0))
        assert not status.is_true("Ready")
        assert not status.is_true("OverlayConnected")
        assert status.workload == ended.workload
    status = subject.wait_steady()
    assert status.workload == ended.workload
    assert not set(subject.uids().values()) & set(before.values())
    assert set(subject.restarts().values()) == {0}
