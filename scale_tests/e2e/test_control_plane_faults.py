"""The operator is killed, or the API server does not answer, while clusters change."""

import os
import signal
import time
from collections.abc import Collection, Mapping

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, core
from scale_tests.cluster.subject import LASTING, counter, manifest
from scale_tests.cluster.wait import repeating, wait_for
from scale_tests.e2e.conftest import Disruption, NewSubject
from scale_tests.localkube import processes
from scale_tests.localkube.settings import Settings

pytestmark = pytest.mark.disrupts
"""Kills the operator, and freezes the API server."""

AWAY_SECONDS = 30
"""Longer than the operator's Lease, shorter than the grace period of a Kubernetes node."""


def test_operators_killed_at_each_stage_leave_clusters_in_order(
    new_subject: NewSubject, cluster: Cluster, disruption: Disruption
) -> None:
    """One cluster is made, scaled and deleted, one is rolled out, and one has nothing to do.

    In the operator's own tests it is killed after every single write.
    """
    turns, rolled, calm = new_subject("turns"), new_subject("rolled"), new_subject("calm")
    rolled.apply(manifest("rolled", 10, workload=None))
    calm.apply(manifest("calm", 4)).wait_finished()
    rolled.wait_steady()
    calm_before, result = calm.uids(), calm.status().workload
    generations = {name: {uid} for name, uid in rolled.uids().items()}

    def note_generations() -> None:
        for name, uid in rolled.uids().items():
            generations[name].add(uid)

    with disruption():
        turns.apply(manifest("turns", 4, workload=None))
        wait_for("the first child", turns.children, bool)
        _kill_operator(cluster)
        turns.wait_steady()
        assert set(turns.restarts().values()) == {0}
        turns_before = turns.uids()
        with repeating(note_generations, 0.5):
            rolled.patch(resources={"requests": {"cpu": "11m", "memory": "48Mi"}})
            wait_for("rollout under way", lambda: _replaced(generations), lambda count: count >= 1)
            turns.patch(replicas=6)
            _kill_operator(cluster)
            turns.wait("scaled up", lambda s: s.steady and s.joined == 6)
            turns.patch(replicas=3)
            _kill_operator(cluster)
            turns.wait("scaled down", lambda s: s.steady and s.joined == 3)
            turns_after = turns.uids()
            assert turns_after == {name: turns_before[name] for name in turns_after}
            cluster.delete(turns.path)
            _kill_operator(cluster)
            wait_for("deletion", turns.children, lambda left: not left)
            wait_for("rollout finished", lambda: _replaced(generations), lambda count: count == 10)
            rolled.wait_steady()
    note_generations()
    assert {len(uids) for uids in generations.values()} == {2}
    assert set(rolled.restarts().values()) == {0}
    # The operator of now serves the cluster that had nothing to do.
    calm.patch(replicas=5)
    calm.wait("scaled by the last operator", lambda s: s.steady and s.joined == 5)
    after = calm.uids()
    assert {name: after[name] for name in calm_before} == calm_before
    assert calm.status().workload == result


def test_an_api_server_that_is_frozen_for_half_a_minute_causes_no_restart(
    new_subject: NewSubject, cluster: Cluster, environment: Environment, disruption: Disruption
) -> None:
    if not environment.local:
        pytest.skip("the API server is frozen as a process of this machine")
    subject = new_subject("away")
    subject.apply(manifest("away", 6, workload={"adCounter": counter(6, LASTING)}))
    subject.wait_counted(6 * 5)
    before = subject.uids()
    with disruption():
        operators = {pod["metadata"]["name"] for pod in operator.operator_pods(cluster)}
        record = processes.find(Settings(), "kube-apiserver")
        assert record is not None
        os.kill(record.pid, signal.SIGSTOP)  # connections stay open, without an answer
        try:
            time.sleep(AWAY_SECONDS)
        finally:
            os.kill(record.pid, signal.SIGCONT)
        wait_for("an operator that acts", lambda: _leader_if_any(cluster), bool)
        assert subject.wait_healthy(6).workload.phase == "Running"
        pods = operator.operator_pods(cluster)
        assert {pod["metadata"]["name"] for pod in pods} == operators
        restarts = [c["restartCount"] for pod in pods for c in pod["status"]["containerStatuses"]]
        assert set(restarts) == {0}
    status = subject.end_run()
    assert subject.uids() == before
    assert set(subject.restarts().values()) == {0}
    assert (status.workload.replaced_nodes, status.workload.lost_increments) == (0, 0)
    subject.patch(replicas=7)
    subject.wait("scaled after the outage", lambda s: s.steady and s.joined == 7)


def _replaced(generations: Mapping[str, Collection[str]]) -> int:
    """The number of pods of which there was more than one."""
    return sum(len(uids) > 1 for uids in generations.values())


def _kill_operator(cluster: Cluster) -> None:
    """Kills the leader without grace, and waits for the next one."""
    killed = wait_for("an operator that acts", lambda: operator.leader(cluster), bool)
    cluster.delete(core(operator.NAMESPACE, "pods", killed), gracePeriodSeconds="0")
    wait_for(
        "the next operator", lambda: operator.leader(cluster), lambda name: name not in ("", killed)
    )


def _leader_if_any(cluster: Cluster) -> str:
    """The leader; empty while there is none or the API server does not answer yet."""
    try:
        return operator.leader(cluster)
    except ApiError as error:
        if error.status not in (0, 429) and error.status < 500:
            raise
        return ""
