"""A node that hangs or reports nonsense affects its own status, and nothing else."""

import re

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.partisan import ClusterStatus
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e import podnet
from scale_tests.e2e.conftest import NewSubject

NODES = 5
FAULTY = "asked-2"

REASONS = {
    "nonsense": "Invalid JSON",
    "endless": "the answer exceeds",
    "impostor": "it reports as 'another-node'",
    "boast": "incarnation: Input should be less than or equal to",
}
"""The reason in the condition, by the manner of the fault."""


@pytest.fixture(scope="module")
def subject(new_subject: NewSubject, environment: Environment) -> Subject:
    if not environment.local:
        pytest.skip("a proxy is put into a pod's network namespace, on this machine")
    subject = new_subject("asked")
    subject.apply(manifest("asked", NODES))
    subject.wait_finished()
    return subject


def wait_named(subject: Subject, reason: str, nodes: int) -> ClusterStatus:
    """Waits until the cluster reports that this node alone gives no usable answer, and why."""

    def is_named(status: ClusterStatus) -> bool:
        found = status.degraded
        return (
            found is not None
            and found.reason == "NodesSilent"
            and f"{FAULTY} for this reason" in found.message
            and reason in found.message
            and (status.ready, status.joined, status.components) == (nodes, nodes - 1, 1)
        )

    return subject.wait(f"NodesSilent for {reason}", is_named)


def wait_recovered(subject: Subject) -> None:
    subject.wait("recovered", lambda s: s.finished and not s.degraded)


def test_a_node_that_hangs_blocks_no_cluster(subject: Subject, new_subject: NewSubject) -> None:
    before, run = subject.uids(), subject.status().workload
    with podnet.faulty(subject.pods()[FAULTY], path="/status", manner="hang"):
        assert not wait_named(subject, "Timeout", NODES).is_true("Ready")
        subject.patch(replicas=NODES + 1)
        subject.wait("scaled", lambda s: (s.ready, s.joined) == (NODES + 1, NODES))
        other = new_subject("other")
        other.apply(manifest("other", 3))
        other.wait_finished()
    wait_recovered(subject)
    after = subject.uids()
    assert {name: after[name] for name in before} == before
    assert set(subject.restarts().values()) == {0}
    assert subject.status().workload == run
    other.delete()


@pytest.mark.parametrize("manner", REASONS)
def test_an_invalid_report_is_ignored(subject: Subject, manner: str) -> None:
    before, status = subject.uids(), subject.wait_finished()
    with podnet.faulty(subject.pods()[FAULTY], path="/status", manner=manner):
        during = wait_named(subject, REASONS[manner], status.joined)
        assert during.workload == status.workload
    wait_recovered(subject)
    assert subject.uids() == before
    assert set(subject.restarts().values()) == {0}


def test_a_node_whose_metrics_hang_is_healthy(subject: Subject, cluster: Cluster) -> None:
    """The operator does not read them: they are Prometheus's, which marks the node down."""
    with podnet.faulty(subject.pods()[FAULTY], path="/metrics", manner="hang"):
        began = observed_at(cluster, subject)
        wait_for(
            "two more observations",
            lambda: observed_at(cluster, subject),
            # An interval of settled clusters is ten seconds.
            lambda at: at > began + 15,
        )
        wait_recovered(subject)


def observed_at(cluster: Cluster, subject: Subject) -> float:
    """The time of the operator's last observation of a cluster, in seconds since 1970."""
    labels = f'namespace="{subject.namespace}",partisan_cluster="{subject.name}"'
    series = f"partisan_operator_cluster_observed_timestamp_seconds{{{labels}}}"
    found = re.search(rf"^{re.escape(series)} (\S+)$", operator.metrics(cluster), re.MULTILINE)
    assert found is not None, f"the operator has no {series}"
    return float(found[1])
