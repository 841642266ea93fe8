"""Pods and containers are killed during a run."""

import contextlib

import pytest

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Json
from scale_tests.cluster.local_nodes import containerd_socket
from scale_tests.cluster.subject import LASTING, Subject, counter, kill_pod, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.outcomes import assert_accounted, wait_replaced
from scale_tests.e2e.shapes import is_brokered, views_of
from scale_tests.host.commands import CommandError, capture

NODES = 16
COUNTING = {"workload": {"adCounter": counter(NODES, LASTING)}}
BACK_OFF_SECONDS = 600.0
"""Longer than a kubelet ever waits before it starts a container that has crashed again."""


def test_three_pods_killed_mid_run_rejoin_and_the_count_is_exact(new_subject: NewSubject) -> None:
    subject = new_subject("killed")
    subject.apply(manifest("killed", NODES, **COUNTING))
    subject.wait_counted(NODES * 5)
    before = subject.uids()
    # The first is a seed, so the others come back without it.
    victims = ["killed-0", "killed-7", "killed-15"]
    for victim in victims:
        kill_pod(subject, victim)
    wait_replaced(subject, len(victims))
    status = subject.end_run()
    after = subject.uids()
    assert {name for name in before if after[name] != before[name]} == set(victims)
    assert_accounted(subject, status)


def test_a_killed_broker_takes_its_place_again_and_the_count_is_exact(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("brokered")
    overlay = {
        "kind": "PublishSubscribe",
        "publishSubscribe": {"brokers": 2, "replication": 2},
    }
    subject.apply(manifest("brokered", NODES, overlay=overlay, **COUNTING))
    subject.wait_counted(NODES * 5)
    before = subject.uids()
    # Others find each other through the second one meanwhile.
    kill_pod(subject, "brokered-0")
    wait_replaced(subject, 1)
    wait_for(
        "everyone at both brokers",
        lambda: views_of(subject.nodes()),
        lambda views: len(views) == NODES and is_brokered(views),
        progress=repr,
    )
    status = subject.end_run()
    after = subject.uids()
    assert {name for name in before if after[name] != before[name]} == {"brokered-0"}
    assert_accounted(subject, status)


def test_a_container_killed_mid_run_continues_as_the_same_actor(
    new_subject: NewSubject, environment: Environment
) -> None:
    if not environment.local:
        pytest.skip("a container is killed through this machine's own containerd")
    subject = new_subject("crashed")
    subject.apply(manifest("crashed", NODES, **COUNTING))
    subject.wait_counted(NODES * 5)
    before = subject.uids()
    actor = subject.node_json("crashed-3")["workload"]["actor"]
    _kill_container(subject, "crashed-3")
    assert subject.wait_steady().workload.phase == "Running"
    status = subject.end_run()
    assert subject.uids() == before
    assert subject.restarts()["crashed-3"] == 1
    assert subject.node_json("crashed-3")["workload"]["actor"] == actor
    assert (status.workload.replaced_nodes, status.workload.lost_increments) == (0, 0)
    assert_accounted(subject, status)


def test_a_node_in_a_crash_loop_holds_up_no_other(
    new_subject: NewSubject, environment: Environment
) -> None:
    if not environment.local:
        pytest.skip("a container is killed through this machine's own containerd")
    subject = new_subject("looping")
    subject.apply(manifest("looping", 8, workload=None))
    subject.wait_steady()
    before = subject.uids()

    def loops() -> str:
        degraded = subject.status().degraded
        if degraded is None or degraded.reason != "CrashLooping":
            _kill_if_running(subject, "looping-5")
            return ""
        return degraded.message

    message = wait_for("CrashLooping", loops, bool)
    assert "looping-5" in message
    assert "kubectl logs looping-5 --previous" in message
    subject.wait("the others joined", lambda s: s.joined >= 7)
    subject.wait("recovered", lambda s: s.steady and not s.degraded, stall_seconds=BACK_OFF_SECONDS)
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
            with contextlib.suppress(CommandError):  # it may have ended before
                _kill_task(victim, status["containerID"])


def _kill_task(pod: Json, container: str) -> None:
    socket = str(containerd_socket(pod))
    task = container.removeprefix("containerd://")
    capture(["ctr", "--address", socket, "-n", "k8s.io", "task", "kill", "-s", "SIGKILL", task])
