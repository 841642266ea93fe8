"""Several operators run, and one acts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject

pytestmark = pytest.mark.alone
"""Kills the leading operator, and installs others next to it."""

SECOND = "second-operator"
"""A release that was installed by mistake."""


@pytest.fixture
def subject(new_subject: NewSubject) -> Subject:
    return new_subject("led")


def other(cluster: Cluster, previous: str) -> str:
    """Waits until another operator acts; returns its pod's name."""
    return wait_for(
        "another operator that acts",
        lambda: operator.leader(cluster),
        lambda name: name not in ("", previous),
    )


def lease(cluster: Cluster) -> Json:
    spec = cluster.get(operator.LEASE)["spec"]
    assert isinstance(spec, dict)
    return spec


def test_two_operators_are_ready_and_one_acts(cluster: Cluster) -> None:
    def roles() -> list[tuple[bool, str]]:
        """Of each pod, whether it holds the Lease, and what it says first."""
        leader = operator.leader(cluster)
        pods = [pod["metadata"]["name"] for pod in operator.operator_pods(cluster)]
        return sorted((pod == leader, ready(cluster, pod).partition(" ")[0]) for pod in pods)

    wait_for("two roles", roles, [(False, "stands"), (True, "leads")].__eq__)


def test_a_killed_leader_is_replaced_and_no_pod_restarts(
    subject: Subject, cluster: Cluster
) -> None:
    subject.apply(manifest("led", 4, workload=None))
    subject.wait_steady()
    before = subject.uids()
    killed = other(cluster, "")
    transitions = lease(cluster)["leaseTransitions"]
    cluster.delete(core(operator.NAMESPACE, "pods", killed), gracePeriodSeconds="0")
    subject.patch(replicas=5)
    other(cluster, killed)
    subject.wait("scaled by the next operator", lambda s: s.steady and s.joined == 5)
    after = subject.uids()
    assert {name: after[name] for name in before} == before
    # A machine that stops for as long as a Lease is valid adds others.
    assert lease(cluster)["leaseTransitions"] > transitions


def test_an_operator_that_shuts_down_releases_the_lease(
    environment: Environment, cluster: Cluster
) -> None:
    previous = other(cluster, "")
    # No operator runs that would take the Lease, so that its release can be seen.
    operator.install(environment, values=["--set", "replicas=0"])
    given_back = wait_for("the Lease given back", lambda: lease(cluster), _is_free)
    assert given_back["leaseDurationSeconds"] == 1
    operator.install(environment)
    assert other(cluster, previous)


def _is_free(spec: Json) -> bool:
    return not spec.get("holderIdentity")


def _is_held(lease: Json | None) -> bool:
    return lease is not None and not _is_free(lease["spec"])


@pytest.fixture(scope="module")
def second_release(environment: Environment) -> Iterator[None]:
    """A second release that also serves all namespaces."""
    operator.install_beside(environment, SECOND)
    yield
    operator.uninstall_beside(environment, SECOND)


def second_pods(cluster: Cluster) -> list[str]:
    """The names of the second release's pods."""
    pods = cluster.list(core(SECOND, "pods"), "app.kubernetes.io/component=operator")
    return [pod["metadata"]["name"] for pod in pods]


@pytest.mark.usefixtures("second_release")
def test_a_second_release_stands_by(
    new_subject: NewSubject, environment: Environment, cluster: Cluster
) -> None:
    pods = second_pods(cluster)
    assert len(pods) == 2
    for pod in pods:
        assert ready(cluster, pod, namespace=SECOND).startswith("stands by")
    subject = new_subject("disputed")
    subject.apply(manifest("disputed", 3, workload=None))
    subject.wait_steady()
    assert lease(cluster)["holderIdentity"].partition("_")[0] not in second_pods(cluster)


@pytest.mark.usefixtures("second_release")
def test_two_leaders_at_once_do_each_thing_once(
    new_subject: NewSubject, environment: Environment, cluster: Cluster, namespace: str
) -> None:
    """The second release is for this namespace alone, which the first one serves too.

    Each has a Lease of its own, so that both act.
    """
    inside = ["--set", f"watchNamespaces={{{namespace}}}"]
    operator.install_beside(environment, SECOND, values=inside)
    subject = new_subject("shared")
    own = f"apis/coordination.k8s.io/v1/namespaces/{subject.namespace}/leases/partisan-operator"
    wait_for("the second leader", lambda: cluster.find(own), _is_held)
    subject.apply(manifest("shared", 4))
    first = subject.wait_finished()
    subject.patch(replicas=5)
    subject.wait("scaled", lambda s: s.steady and s.joined == 5)
    assert subject.status().workload == first.workload
    generations = {name: {uid} for name, uid in subject.uids().items()}

    def replaced() -> int:
        for name, uid in subject.uids().items():
            generations[name].add(uid)
        return sum(len(uids) > 1 for uids in generations.values())

    subject.patch(resources={"requests": {"cpu": "11m", "memory": "48Mi"}})
    wait_for("rolled out", replaced, lambda count: count == 5)
    subject.wait_steady()
    replaced()
    assert {len(uids) for uids in generations.values()} == {2}
    assert set(subject.restarts().values()) == {0}
    subject.delete()


def ready(cluster: Cluster, pod: str, *, namespace: str = operator.NAMESPACE) -> str:
    """The answer to an operator's readiness probe, once the operator is ready.

    It is not ready while its watches restart, which they do when kinds come and go.
    """
    return wait_for(
        f"{pod} is ready",
        lambda: operator.readiness(cluster, pod, namespace=namespace),
        lambda answer: answer[0],
    )[1]
