"""One readable condition reports why pods do not start, and clears when the cause is fixed."""

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject


def degraded(subject: Subject, reason: str, *texts: str) -> None:
    """Waits until the cluster is Degraded for a reason, in one line with these texts."""
    assert "\n" not in subject.wait_degraded(reason, *texts)


def quota(subject: Subject, name: str, hard: Json) -> str:
    """Creates a quota, and waits until it is in force: until it has a status. Returns its path."""
    quotas = core(subject.namespace, "resourcequotas")
    subject.cluster.create(quotas, {"metadata": {"name": name}, "spec": {"hard": hard}})
    path = f"{quotas}/{name}"
    wait_for(
        "the quota in force",
        lambda: subject.cluster.get(path).get("status", {}).get("hard"),
        lambda found: found == hard,
    )
    return path


def recovered(subject: Subject) -> None:
    """Waits until all nodes have joined and the cluster is not Degraded."""
    subject.wait("recovered", lambda s: s.steady and not s.degraded)


def test_an_image_that_cannot_be_pulled(new_subject: NewSubject) -> None:
    subject = new_subject("unpullable")
    image = "registry.invalid/nobody/nothing:1"
    subject.apply(manifest("unpullable", 3, workload=None, image=image))
    degraded(subject, "ImagePullFailed", "spec.image", "unpullable-")
    subject.wait("the phase", lambda status: status.phase == "Degraded")
    subject.patch(image="")
    recovered(subject)


def test_a_namespace_whose_quota_is_used_up(new_subject: NewSubject, cluster: Cluster) -> None:
    subject = new_subject("limited")
    pods = quota(subject, "pods", {"pods": "2"})
    try:
        subject.apply(manifest("limited", 4, workload=None))
        degraded(subject, "QuotaExceeded", "quota", "spec.replicas")
        cluster.patch(pods, {"spec": {"hard": {"pods": "20"}}})
        recovered(subject)
    finally:
        cluster.delete(pods)


def test_an_object_that_the_api_server_refuses(new_subject: NewSubject, cluster: Cluster) -> None:
    subject = new_subject("refused")
    sets = quota(subject, "sets", {"count/statefulsets.apps": "0"})
    try:
        subject.apply(manifest("refused", 2, workload=None))
        degraded(subject, "ApplyFailed", "apply StatefulSet refused", "exceeded quota")
    finally:
        cluster.delete(sets)
    recovered(subject)
    subject.wait_events("ApplyFailed", "Recovered")


def test_a_seed_that_never_starts(
    new_subject: NewSubject, cluster: Cluster, environment: Environment
) -> None:
    subject = new_subject("seedless")
    blocker = core(subject.namespace, "pods", "blocker")
    cluster.create(core(subject.namespace, "pods"), _blocker("seedless-0", environment))
    wait_for("the blocker's place", lambda: cluster.get(blocker)["spec"].get("nodeName"), bool)
    subject.apply(manifest("seedless", 5))
    degraded(subject, "Unschedulable", "seedless-0 (a seed")
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
