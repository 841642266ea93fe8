"""Nodes die, are evicted and crash, and others write, in the middle of things."""

from __future__ import annotations

import contextlib

import pytest

from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.subject import Subject, assert_accounted, kill_pod, manifest
from scale_tests.harness.commands import CommandError, capture
from scale_tests.harness.environment import Environment
from scale_tests.harness.kube import ApiError, Cluster, Json, core
from scale_tests.harness.local_nodes import containerd_socket
from scale_tests.harness.progress import wait_for

NODES = 16
COUNTER = {
    "impressions": NODES * 60,
    "incrementInterval": "500ms",
    "propagationInterval": "250ms",
}


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


def _kill_container(subject: Subject, pod: str) -> None:
    """Kills a pod's process with SIGKILL, as the kernel does when memory runs out."""
    victim = subject.pods()[pod]
    (status,) = victim["status"]["containerStatuses"]
    _kill_task(victim, status["containerID"])
    wait_for(
        f"restart of the container of {pod}",
        lambda: subject.restarts()[pod],
        lambda count: count == 1,
    )


def _kill_if_running(subject: Subject, pod: str) -> None:
    """Kills a pod's process if there is one, and does not wait."""
    victim = subject.pods()[pod]
    for status in victim["status"].get("containerStatuses") or ():
        if "running" in status["state"]:
            with contextlib.suppress(CommandError):  # it has ended by itself meanwhile
                _kill_task(victim, status["containerID"])


def _kill_task(pod: Json, container: str) -> None:
    socket = str(containerd_socket(pod))
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
