"""Why a cluster is degraded, in one sentence."""

from typing import Any

import pytest

from partisan_operator.act.refusals import apply_failure
from partisan_operator.models.problem import Reason
from partisan_operator.observe.pod_failures import (
    PodFailure,
    creation_failure,
    failure_of,
    is_stuck,
    mount_failure,
    tls_secret_failure,
)
from partisan_operator.status.diagnosis import explain, partition, silence
from world import START


def pod(phase: str = "Pending", **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "ads-1"}, "status": {"phase": phase, **status}}


def waiting(reason: str, message: str = "why", **status: Any) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return pod(containerStatuses=[{"name": "node", "state": state, **status}])


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (waiting("ErrImagePull"), Reason.IMAGE_PULL_FAILED),
        (waiting("ImagePullBackOff"), Reason.IMAGE_PULL_FAILED),
        (waiting("ErrImageNeverPull"), Reason.IMAGE_PULL_FAILED),
        (waiting("CreateContainerConfigError"), Reason.CONTAINER_CONFIG_ERROR),
        (waiting("ContainerCreating"), Reason.POD_NOT_STARTING),
        (waiting("CrashLoopBackOff", restartCount=4), Reason.CRASH_LOOPING),
        (pod(), Reason.POD_NOT_STARTING),
        (pod("Running"), Reason.NODE_NOT_JOINING),
        (
            pod(
                conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
            ),
            Reason.UNSCHEDULABLE,
        ),
    ],
)
def test_the_reason_of_a_pod(found: dict[str, Any], reason: Reason) -> None:
    failure = failure_of(found)
    assert failure is not None
    assert failure.reason is reason


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (None, "does not exist"),
        ({}, "has no tls.crt and no ca.crt"),
        ({"data": {"tls.crt": "eA=="}}, "has no ca.crt"),
    ],
)
def test_pods_that_wait_for_the_tls_secret(secret: dict[str, Any] | None, said: str) -> None:
    stuck = PodFailure("ads-1", Reason.POD_NOT_STARTING, "its container has not started")
    failure = tls_secret_failure(stuck, "ads-tls", ("tls.crt", "ca.crt"), secret)
    assert failure.reason is Reason.TLS_SECRET_UNUSABLE
    assert failure.detail == f"Secret ads-tls, which spec.security.tls names, {said}"
    found = explain([failure], unready_pods=3, seeds=[], lasted=lambda _: 6.0)
    assert found is not None
    assert "spec.security.tls.secretName cannot change" in found.message


def test_a_complete_tls_secret_is_not_the_cause() -> None:
    stuck = PodFailure("ads-1", Reason.POD_NOT_STARTING, "its container has not started")
    secret = {"data": {"tls.crt": "eA=="}}
    assert tls_secret_failure(stuck, "ads-tls", ("tls.crt",), secret) is stuck


def test_a_backup_that_a_node_refuses_is_reported_in_its_words() -> None:
    line = "configuration: restore: the backup /etc/partisan/restore/backup is corrupt: why. Fix\n"
    ended = {"terminated": {"exitCode": 1, "message": line}}
    failure = failure_of(waiting("CrashLoopBackOff", restartCount=3, lastState=ended))
    assert failure is not None
    assert failure.reason is Reason.BACKUP_REFUSED
    problem = explain([failure], unready_pods=1, seeds=[], lasted=lambda _: 0.0)
    assert problem is not None
    assert problem.message == (
        "Pod ads-1: the backup /etc/partisan/restore/backup is corrupt: why. Fix."
        " The log has the whole line: kubectl logs ads-1 --previous."
    )


def on_a_lost_node(**metadata: str) -> dict[str, Any]:
    """Return a pod that was ready when its Kubernetes node sent its last heartbeat."""
    reported = {"PodScheduled": "True", "ContainersReady": "True", "Ready": "False"}
    conditions = [{"type": kind, "status": status} for kind, status in reported.items()]
    found = pod("Running", conditions=conditions)
    return {**found, "metadata": found["metadata"] | metadata, "spec": {"nodeName": "rack-7"}}


@pytest.mark.parametrize("metadata", [{}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}])
def test_a_lost_kubernetes_node_is_reported_at_once(metadata: dict[str, str]) -> None:
    failure = failure_of(on_a_lost_node(**metadata))
    assert failure is not None
    problem = explain([failure], unready_pods=4, seeds=[], lasted=lambda _: 0.0)
    assert problem is not None
    assert problem.reason is Reason.MACHINE_LOST
    assert "its Kubernetes node rack-7 sends no heartbeats. 4 pods are not ready" in problem.message
    assert "delete its Node object" in problem.message


def test_a_pod_that_its_kubelet_reports_as_not_ready_is_not_on_a_lost_node() -> None:
    found = on_a_lost_node()
    for condition in found["status"]["conditions"][1:]:
        condition["status"] = "False"
    failure = failure_of(found)
    assert failure is not None
    assert failure.reason is Reason.NODE_NOT_JOINING


def test_a_pod_that_waits_for_a_readiness_gate_is_not_on_a_lost_node() -> None:
    found = on_a_lost_node()
    found["status"]["conditions"][2] |= {
        "reason": "ReadinessGatesNotReady",
        "message": 'the status of pod readiness gate "example.com/gate" is not "True"',
    }
    failure = failure_of(found)
    assert failure is not None
    assert failure.reason is Reason.POD_NOT_STARTING
    assert "its containers are ready, and the status of pod readiness gate" in failure.detail
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert failure_of(found) is None


def test_a_crash_reports_the_exit_code() -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    failure = failure_of(waiting("CrashLoopBackOff", restartCount=4, lastState=ended))
    assert failure is not None
    assert failure.detail == "it crashed 4 times, last with exit code 137 (OOMKilled)"


def with_sidecar(sidecar: dict[str, Any], *, node_ready: bool) -> dict[str, Any]:
    """Return a pod with a sidecar, after an init container that has ended."""
    ended = {"name": "first", "ready": True, "state": {"terminated": {"exitCode": 0}}}
    return pod(
        "Running" if node_ready else "Pending",
        initContainerStatuses=[ended, {"name": "proxy", **sidecar}],
        containerStatuses=[{"name": "node", "ready": node_ready}],
    )


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("ErrImagePull", "Check its image in spec.pods"),
        ("CreateContainerConfigError", "Check what spec.pods has of it"),
        ("CrashLoopBackOff", "kubectl logs ads-1 -c proxy --previous"),
    ],
)
def test_a_container_of_the_user_is_named_with_the_remedy(reason: str, remedy: str) -> None:
    waits = {"state": {"waiting": {"reason": reason, "message": "why"}}}
    failure = failure_of(with_sidecar(waits, node_ready=False))
    assert failure is not None
    problem = explain([failure], unready_pods=1, seeds=[], lasted=lambda _: 60.0)
    assert problem is not None
    assert "Pod ads-1: container proxy: " in problem.message
    assert remedy in problem.message


def test_a_sidecar_that_is_not_ready_is_not_blamed_on_the_node() -> None:
    failure = failure_of(with_sidecar({"ready": False}, node_ready=True))
    assert failure is not None
    assert failure.reason is Reason.POD_NOT_STARTING
    assert failure.detail == "its node is ready, and its container proxy is not"
    joining = failure_of(with_sidecar({"ready": False}, node_ready=False))
    assert joining is not None
    assert joining.detail == "its container has not started"


def test_ready_and_terminating_pods_are_no_failures() -> None:
    assert failure_of(pod("Running", conditions=[{"type": "Ready", "status": "True"}])) is None
    leaving = pod()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert failure_of(leaving) is None


def test_events_of_pods_that_could_not_be_created() -> None:
    text = 'Create Pod ads-3 in StatefulSet ads failed error: pods "ads-3" is forbidden: '
    quota = creation_failure({"message": f"{text}exceeded quota: q"})
    assert quota is not None
    assert (quota.pod, quota.reason) == ("ads-3", Reason.QUOTA_EXCEEDED)
    policy = creation_failure({"message": f"{text}violates PodSecurity"})
    assert policy is not None
    assert policy.reason is Reason.POD_REJECTED
    assert creation_failure({"message": "something else"}) is None
    assert creation_failure({}) is None


def said(*failures: PodFailure, unready: int = 1, seconds: float = 1000.0) -> str:
    found = explain(failures, unready_pods=unready, seeds=["ads-0"], lasted=lambda _: seconds)
    return "" if found is None else f"{found.reason}: {found.message}"


def test_the_message_names_pod_cause_and_remedy() -> None:
    failure = PodFailure("ads-0", Reason.IMAGE_PULL_FAILED, "ErrImagePull: not\n found.")
    assert said(failure, unready=5) == (
        "ImagePullFailed: Pod ads-0 (a seed that the others join through): ErrImagePull: not"
        " found. 5 pods are not ready. Check spec.image, spec.imagePullPolicy and"
        " spec.imagePullSecrets."
    )


def test_the_cause_is_reported_and_not_its_consequences() -> None:
    joining = PodFailure("ads-0", Reason.NODE_NOT_JOINING, "x")
    quota = PodFailure("ads-7", Reason.QUOTA_EXCEEDED, "y")
    assert said(joining, quota).startswith("QuotaExceeded: Pod ads-7")


def test_among_equal_failures_a_seeds_is_reported() -> None:
    failures = [PodFailure(name, Reason.UNSCHEDULABLE, "x") for name in ("ads-4", "ads-0")]
    assert said(*failures).startswith("Unschedulable: Pod ads-0 (a seed")


@pytest.mark.parametrize(
    ("reason", "seconds"),
    [(Reason.UNSCHEDULABLE, 4), (Reason.POD_NOT_STARTING, 40), (Reason.NODE_NOT_JOINING, 80)],
)
def test_transient_states_get_time(reason: Reason, seconds: float) -> None:
    assert said(PodFailure("ads-1", reason, "x"), seconds=seconds) == ""
    assert said(PodFailure("ads-1", Reason.IMAGE_PULL_FAILED, "x"), seconds=0)


def test_a_partitioned_overlay_is_a_problem_after_a_while() -> None:
    assert partition(2, 8, seconds=5) is None
    assert partition(1, 8, seconds=100) is None
    found = partition(2, 8, seconds=100)
    assert found is not None
    assert found.reason is Reason.OVERLAY_PARTITIONED


def test_ready_pods_that_do_not_answer_are_a_problem_after_a_while() -> None:
    silent = {"ads-3": "HTTP status 500", "ads-4": "timed out"}
    assert silence(silent, seconds=5) is None
    assert silence({}, seconds=100) is None
    found = silence(silent, seconds=100)
    assert found is not None
    assert found.message.startswith("2 ready pods do not answer")
    assert "ads-3 for this reason: HTTP status 500" in found.message


def test_long_messages_are_cut() -> None:
    message = apply_failure("apply StatefulSet ads", "x" * 5000, transient=False).message
    assert len(message) < 600
    assert "..." in message


SCHEDULED = {"type": "PodScheduled", "status": "True"}
MISSING = 'MountVolume.SetUp failed for volume "settings" : configmap "app" not found'


@pytest.mark.parametrize(
    ("found", "stuck"),
    [
        (pod(conditions=[SCHEDULED | {"lastTransitionTime": "2025-12-31T23:59:30Z"}]), True),
        (pod(conditions=[SCHEDULED | {"lastTransitionTime": "2025-12-31T23:59:31Z"}]), False),
        (
            pod("Running", conditions=[SCHEDULED | {"lastTransitionTime": "2025-01-01T00:00:00Z"}]),
            False,
        ),
        (pod(conditions=[{"type": "PodScheduled", "status": "False"}]), False),
        (pod(), False),
    ],
)
def test_a_pod_has_time_to_prepare_its_volumes(found: dict[str, Any], stuck: bool) -> None:
    assert is_stuck(found, START) is stuck


def test_the_last_failed_mount_is_the_cause_of_a_pod_that_does_not_start() -> None:
    stuck = PodFailure("ads-1", Reason.POD_NOT_STARTING, "its container has not started")
    events = [
        {"reason": "FailedMount", "lastTimestamp": "2026-01-01T00:01:00Z", "message": MISSING},
        {"reason": "FailedMount", "lastTimestamp": "2026-01-01T00:00:00Z", "message": "earlier"},
        {"reason": "Scheduled", "lastTimestamp": "2026-01-01T00:02:00Z", "message": "later"},
    ]
    found = mount_failure(stuck, events)
    assert found == PodFailure("ads-1", Reason.MOUNT_FAILED, MISSING)
    problem = explain([found], unready_pods=1, seeds=[], lasted=lambda _: 0.0)
    assert problem is not None
    assert 'configmap "app" not found' in problem.message
    assert "change spec.pods" in problem.message


def test_a_failed_mount_of_the_past_is_no_cause_of_another_failure() -> None:
    crashing = PodFailure("ads-1", Reason.CRASH_LOOPING, "it crashed")
    assert mount_failure(crashing, [{"reason": "FailedMount", "message": MISSING}]) is crashing
    stuck = PodFailure("ads-1", Reason.POD_NOT_STARTING, "its container has not started")
    assert mount_failure(stuck, [{"reason": "Scheduled", "message": "x"}]) is stuck
