"""Nodes and the operator die in the middle of things."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import pytest

from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.subject import Subject, assert_accounted, kill_pod, manifest
from scale_tests.harness import operator
from scale_tests.harness.commands import CommandError, capture
from scale_tests.harness.environment import Environment
from scale_tests.harness.kube import ApiError, Cluster, Json, core
from scale_tests.harness.progress import wait_for
from scale_tests.localkube import processes
from scale_tests.localkube.settings import Settings

pytestmark = pytest.mark.alone
"""Kills the operator, and freezes the API server."""

NODES = 16
COUNTER = {
    "impressions": NODES * 60,
    "incrementInterval": "500ms",
    "propagationInterval": "250ms",
}

AWAY_SECONDS = 30
"""Longer than the operator's Lease lasts, shorter than a machine is missed."""


def test_three_pods_killed_mid_run_rejoin_and_the_account_holds(new_subject: NewSubject) -> None:
    subject = new_subject("killed")
    subject.apply(manifest("killed", NODES, workload={"adCounter": COUNTER}))
    subject.wait_counted(NODES * 10)
    before = subject.uids()
    # The first is a seed, so the others come back without it.
    victims = ["killed-0", "killed-7", "killed-15"]
    for victim in victims:
        kill_pod(subject, victim)
    status = subject.wait_finished()
    after = subject.uids()
    assert {name for name in before if after[name] != before[name]} == set(victims)
    assert status.workload.replaced_nodes == len(victims)
    assert_accounted(subject, status)


def test_a_container_killed_mid_run_continues_as_the_same_actor(
    new_subject: NewSubject, environment: Environment
) -> None:
    if not environment.local:
        pytest.skip("a container is killed through this machine's own containerd")
    subject = new_subject("crashed")
    subject.apply(manifest("crashed", NODES, workload={"adCounter": COUNTER}))
    subject.wait_counted(NODES * 10)
    before = subject.uids()
    actor = subject.node_json("crashed-3")["workload"]["actor"]
    _kill_container(subject, "crashed-3")
    status = subject.wait_finished()
    assert subject.uids() == before
    assert subject.restarts()["crashed-3"] == 1
    assert subject.node_json("crashed-3")["workload"]["actor"] == actor
    assert (status.workload.replaced_nodes, status.workload.lost_increments) == (0, 0)
    assert_accounted(subject, status)


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


def test_an_operator_killed_at_each_turn_of_a_life_leaves_it_as_it_should_be(
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


def test_what_others_write_is_kept_where_it_is_theirs_and_repaired_where_it_is_ours(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("disputed")
    subject.apply(manifest("disputed", 3, workload=None))
    subject.wait_steady()
    before = subject.uids()
    shard = f"apis/apps/v1/namespaces/{subject.namespace}/statefulsets/disputed"
    config = core(subject.namespace, "configmaps", "disputed-config")
    wanted = cluster.get(config)["data"]
    mine = {"metadata": {"annotations": {"example.com/owner": "somebody"}}}
    for _ in range(3):
        cluster.patch(shard, {**mine, "spec": {"replicas": 5}})
        wait_for(
            "the number of pods repaired",
            lambda: cluster.get(shard)["spec"]["replicas"],
            lambda replicas: replicas == 3,
        )
    cluster.patch(config, {**mine, "data": {"node.config": "nonsense."}})
    cluster.delete(core(subject.namespace, "services", "disputed"))
    wait_for("the configuration repaired", lambda: cluster.get(config)["data"], wanted.__eq__)
    wait_for(
        "the Service made anew",
        lambda: cluster.find(core(subject.namespace, "services", "disputed")),
        bool,
    )
    for path in (shard, config):
        assert cluster.get(path)["metadata"]["annotations"]["example.com/owner"] == "somebody"
    subject.wait_steady()
    assert {name: subject.uids()[name] for name in before} == before
    assert sorted(subject.pods()) == sorted(before)


def test_pods_that_are_evicted_go_no_faster_than_the_budget_lets_them(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    """What `kubectl drain` does, to the pods of one cluster."""
    subject = new_subject("drained")
    subject.apply(manifest("drained", 5, workload=None, rollout={"maxUnavailable": 1}))
    subject.wait_steady()
    budget = f"apis/policy/v1/namespaces/{subject.namespace}/poddisruptionbudgets/drained"
    wait_for("the budget", lambda: cluster.find(budget), lambda b: _allowed(b) == 1)
    before = subject.uids()
    refused = 0
    for name in sorted(before):
        while not _evict(subject, name):
            refused += 1
            wait_for("the budget's leave", lambda: cluster.find(budget), lambda b: _allowed(b) == 1)
    wait_for(
        "a successor of each pod",
        subject.uids,
        lambda now: len(now) == len(before) and not set(before.values()) & set(now.values()),
    )
    assert subject.wait_steady().components == 1
    assert refused >= 1


def test_a_node_that_crashes_again_and_again_holds_nobody_up(
    new_subject: NewSubject, environment: Environment
) -> None:
    if not environment.local:
        pytest.skip("a container is killed through this machine's own containerd")
    subject = new_subject("looping")
    subject.apply(manifest("looping", 8, workload=None))
    subject.wait_steady()
    before = subject.uids()

    def loops() -> str:
        trouble = subject.status().trouble
        if trouble is None or trouble.reason != "CrashLooping":
            _kill_if_running(subject, "looping-5")
            return ""
        return trouble.message

    message = wait_for("CrashLooping", loops, bool)
    assert "looping-5" in message
    assert "kubectl logs looping-5 --previous" in message
    assert subject.status().joined >= 7
    subject.wait("recovered", lambda s: s.steady and not s.trouble)
    assert subject.uids() == before


def test_an_api_server_that_is_away_for_half_a_minute_costs_no_restart(
    new_subject: NewSubject, cluster: Cluster, environment: Environment
) -> None:
    if not environment.local:
        pytest.skip("the API server is frozen as a process of this machine")
    subject = new_subject("away")
    subject.apply(manifest("away", 6, workload={"adCounter": {**COUNTER, "impressions": 6 * 60}}))
    subject.wait_counted(6 * 5)
    before = subject.uids()
    operators = {pod["metadata"]["name"] for pod in operator.operator_pods(cluster)}
    record = processes.find(Settings(), "kube-apiserver")
    assert record is not None
    os.kill(record.pid, signal.SIGSTOP)  # connections stay open, and nobody answers
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


def _kill_container(subject: Subject, pod: str) -> None:
    """Kills a pod's process with SIGKILL, as the kernel does when memory runs out."""
    (status,) = subject.pods()[pod]["status"]["containerStatuses"]
    _kill_task(status["containerID"])
    wait_for(
        f"restart of the container of {pod}",
        lambda: subject.restarts()[pod],
        lambda count: count == 1,
    )


def _leader_if_any(cluster: Cluster) -> str:
    """The operator that acts, of an API server that may not answer yet."""
    try:
        return operator.leader(cluster)
    except ApiError as error:
        if error.status not in (0, 429) and error.status < 500:
            raise
        return ""


def _kill_if_running(subject: Subject, pod: str) -> None:
    """Kills a pod's process if there is one, and does not wait."""
    statuses = subject.pods()[pod]["status"].get("containerStatuses") or ()
    for status in statuses:
        if "running" in status["state"]:
            with contextlib.suppress(CommandError):  # it has ended by itself meanwhile
                _kill_task(status["containerID"])


def _kill_task(container: str) -> None:
    socket = str(Settings().containerd_socket)
    task = container.removeprefix("containerd://")
    capture(["ctr", "--address", socket, "-n", "k8s.io", "task", "kill", "-s", "SIGKILL", task])


def _allowed(budget: Json | None) -> int:
    return 0 if budget is None else int(budget.get("status", {}).get("disruptionsAllowed", 0))


def _evict(subject: Subject, pod: str) -> bool:
    """Asks for a pod's eviction; returns whether the budget allows it now."""
    path = core(subject.namespace, "pods", f"{pod}/eviction")
    metadata = {"name": pod, "namespace": subject.namespace}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    try:
        subject.cluster.create(path, body)
    except ApiError as error:
        if error.status != 429:
            raise
        return False
    return True
