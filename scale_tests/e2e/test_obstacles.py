"""One readable condition reports why pods do not start, and clears when the cause is fixed."""

from __future__ import annotations

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, core
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject


def degraded(subject: Subject, reason: str) -> str:
    """Waits until the cluster is Degraded for a reason; returns the message, which is one line."""
    message = subject.wait_degraded(reason)
    assert "\n" not in message
    return message


def recovered(subject: Subject) -> None:
    """Waits until all nodes have joined and the cluster is not Degraded."""
    subject.wait("recovered", lambda s: s.steady and not s.degraded)


def test_an_image_that_cannot_be_pulled(new_subject: NewSubject) -> None:
    subject = new_subject("unpullable")
    image = "registry.invalid/nobody/nothing:1"
    subject.apply(manifest("unpullable", 3, workload=None, image=image))
    message = degraded(subject, "ImagePullFailed")
    assert "spec.image" in message
    assert "unpullable-" in message
    assert subject.status().phase == "Degraded"
    subject.patch(image="")
    recovered(subject)


def test_a_namespace_whose_quota_is_used_up(new_subject: NewSubject, cluster: Cluster) -> None:
    subject = new_subject("limited")
    quotas = core(subject.namespace, "resourcequotas")
    quota = {"metadata": {"name": "pods"}, "spec": {"hard": {"pods": "2"}}}
    cluster.create(quotas, quota)
    try:
        subject.apply(manifest("limited", 4, workload=None))
        message = degraded(subject, "QuotaExceeded")
        assert "quota" in message
        assert "spec.replicas" in message
        cluster.patch(f"{quotas}/pods", {"spec": {"hard": {"pods": "20"}}})
        recovered(subject)
    finally:
        cluster.delete(f"{quotas}/pods")


def test_an_object_that_the_api_server_refuses(new_subject: NewSubject, cluster: Cluster) -> None:
    subject = new_subject("refused")
    quotas = core(subject.namespace, "resourcequotas")
    quota = {"metadata": {"name": "sets"}, "spec": {"hard": {"count/statefulsets.apps": "0"}}}
    cluster.create(quotas, quota)
    try:
        enforced = wait_for(
            "the quota in force",
            lambda: cluster.get(f"{quotas}/sets").get("status", {}).get("hard"),
            bool,
        )
        assert enforced
        subject.apply(manifest("refused", 2, workload=None))
        message = degraded(subject, "ApplyFailed")
        assert "apply StatefulSet refused" in message
        assert "exceeded quota" in message
    finally:
        cluster.delete(f"{quotas}/sets")
    recovered(subject)
    assert {"ApplyFailed", "Recovered"} <= subject.events()


def test_a_seed_that_never_starts(
    new_subject: NewSubject, cluster: Cluster, environment: Environment
) -> None:
    subject = new_subject("seedless")
    blocker = core(subject.namespace, "pods", "blocker")
    cluster.create(core(subject.namespace, "pods"), _blocker("seedless-0", environment))
    subject.apply(manifest("seedless", 5))
    message = degraded(subject, "Unschedulable")
    assert "seedless-0" in message
    assert "seed" in message
    # The other seeds connect the other nodes.
    subject.wait("the others joined", lambda status: status.joined == 4)
    cluster.delete(blocker, gracePeriodSeconds="0")
    recovered(subject)
    subject.wait_finished()


def _blocker(pod: str, environment: Environment) -> dict[str, object]:
    """A pod that may not share a Kubernetes node with the pod named `pod`."""
    return {
        "metadata": {"name": "blocker"},
        "spec": {
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "sleep",
                    "image": environment.operator_image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["python3", "-c", "import signal; signal.pause()"],
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "topologyKey": "kubernetes.io/os",
                            "labelSelector": {
                                "matchLabels": {"statefulset.kubernetes.io/pod-name": pod}
                            },
                        }
                    ]
                }
            },
        },
    }
