"""The operator dies, or the API server is away, in the middle of things."""

from __future__ import annotations

import os
import signal
import time

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, core
from scale_tests.cluster.subject import manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.localkube import processes
from scale_tests.localkube.settings import Settings

pytestmark = pytest.mark.alone
"""Kills the operator, and freezes the API server."""

COUNTER = {
    "impressions": 6 * 60,
    "incrementInterval": "500ms",
    "propagationInterval": "250ms",
}

AWAY_SECONDS = 30
"""Longer than the operator's Lease lasts, shorter than a machine is missed."""


def test_an_operator_killed_mid_rollout_carries_on_without_a_needless_restart(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("rolled")
    subject.apply(manifest("rolled", 10, workload=None))
    subject.wait_steady()
    before = subject.uids()
    generations: dict[str, set[str]] = {name: {uid} for name, uid in before.items()}

    def updated() -> int:
        for name, uid in subject.uids().items():
            generations[name].add(uid)
        return int(subject.json()["status"].get("updated", 0))

    subject.patch(resources={"requests": {"cpu": "11m", "memory": "48Mi"}})
    wait_for("rollout under way", updated, lambda count: 1 <= count < 10)
    _kill_operator(cluster)
    wait_for("rollout finished", updated, lambda count: count == 10)
    subject.wait_steady()
    assert {len(uids) for uids in generations.values()} == {2}
    assert set(subject.restarts().values()) == {0}


def test_an_operator_killed_while_all_is_well_changes_nothing(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("calm")
    subject.apply(manifest("calm", 4))
    subject.wait_finished()
    pods, status = subject.pods(), subject.status()
    _kill_operator(cluster)
    # The next operator has taken over once it carries out a change.
    subject.patch(replicas=5)
    subject.wait("scaled by the next operator", lambda s: s.steady and s.joined == 5)
    after = subject.pods()
    assert {name: after[name]["metadata"]["uid"] for name in pods} == {
        name: pod["metadata"]["uid"] for name, pod in pods.items()
    }
    assert subject.status().workload == status.workload


def test_an_operator_killed_at_each_stage_of_a_cluster_leaves_it_in_order(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    """After every single write it is killed in the operator's own tests; here for real."""
    subject = new_subject("turns")
    subject.apply(manifest("turns", 4, workload=None))
    wait_for("the first child", subject.children, bool)
    _kill_operator(cluster)
    subject.wait_steady()
    assert set(subject.restarts().values()) == {0}
    before = subject.uids()
    subject.patch(replicas=6)
    _kill_operator(cluster)
    subject.wait("scaled up", lambda s: s.steady and s.joined == 6)
    subject.patch(replicas=3)
    _kill_operator(cluster)
    subject.wait("scaled down", lambda s: s.steady and s.joined == 3)
    after = subject.uids()
    assert after == {name: before[name] for name in after}
    cluster.delete(subject.path)
    _kill_operator(cluster)
    wait_for("deletion", subject.children, lambda left: not left)


def test_an_api_server_that_is_away_for_half_a_minute_costs_no_restart(
    new_subject: NewSubject, cluster: Cluster, environment: Environment
) -> None:
    if not environment.local:
        pytest.skip("the API server is frozen as a process of this machine")
    subject = new_subject("away")
    subject.apply(manifest("away", 6, workload={"adCounter": COUNTER}))
    subject.wait_counted(6 * 5)
    before = subject.uids()
    operators = {pod["metadata"]["name"] for pod in operator.operator_pods(cluster)}
    record = processes.find(Settings(), "kube-apiserver")
    assert record is not None
    os.kill(record.pid, signal.SIGSTOP)  # connections stay open, without an answer
    try:
        time.sleep(AWAY_SECONDS)
    finally:
        os.kill(record.pid, signal.SIGCONT)
    wait_for("an operator that acts", lambda: _leader_if_any(cluster), bool)
    status = subject.wait_finished()
    assert subject.uids() == before
    assert set(subject.restarts().values()) == {0}
    assert (status.workload.replaced_nodes, status.workload.lost_increments) == (0, 0)
    pods = operator.operator_pods(cluster)
    assert {pod["metadata"]["name"] for pod in pods} == operators
    assert {c["restartCount"] for pod in pods for c in pod["status"]["containerStatuses"]} == {0}
    subject.patch(replicas=7)
    subject.wait("scaled after the outage", lambda s: s.steady and s.joined == 7)


def _kill_operator(cluster: Cluster) -> None:
    """Kills the operator that acts at once, and waits until another one does."""
    killed = wait_for("an operator that acts", lambda: operator.leader(cluster), bool)
    cluster.delete(core(operator.NAMESPACE, "pods", killed), gracePeriodSeconds="0")
    wait_for(
        "the next operator", lambda: operator.leader(cluster), lambda name: name not in ("", killed)
    )


def _leader_if_any(cluster: Cluster) -> str:
    """The operator that acts, of an API server that may not answer yet."""
    try:
        return operator.leader(cluster)
    except ApiError as error:
        if error.status not in (0, 429) and error.status < 500:
            raise
        return ""
