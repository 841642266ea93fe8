"""Several operators run, and one acts."""

from collections.abc import Iterator

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.removal import remove_namespace, renew_namespace
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import Disruption, NewSubject

pytestmark = pytest.mark.disrupts
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
    subject: Subject, cluster: Cluster, disruption: Disruption
) -> None:
    subject.apply(manifest("led", 4, workload=None))
    subject.wait_steady()
    before = subject.uids()
    with disruption():
        killed = other(cluster, "")
        transitions = lease(cluster)["leaseTransitions"]
        cluster.delete(core(operator.NAMESPACE, "pods", killed), gracePeriodSeconds="0")
        subject.patch(replicas=5)
        other(cluster, killed)
        # A machine that stops for as long as a Lease is valid adds others.
        assert lease(cluster)["leaseTransitions"] > transitions
    subject.wait("scaled by the next operator", lambda s: s.steady and s.joined == 5)
    after = subject.uids()
    assert {name: after[name] for name in before} == before


def test_an_operator_that_shuts_down_releases_the_lease(
    environment: Environment, cluster: Cluster, disruption: Disruption
) -> None:
    with disruption():
        previous = other(cluster, "")
        # No operator runs that would take the Lease, so that its release can be seen.
        operator.install(environment, values=["--set", "replicas=0"])
        given_back = wait_for("the Lease given back", lambda: lease(cluster), _is_free)
        assert given_back["leaseDurationSeconds"] == 1
        operator.install(environment)
        assert other(cluster, previous)


def _is_free(spec: Json) -> bool:
    return not spec.get("holderIdentity")


@pytest.fixture
def other_namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace without clusters."""
    name = "e2e-leadership-other"
    renew_namespace(cluster, name)
    yield name
    remove_namespace(cluster, name)


def holder(cluster: Cluster, namespace: str) -> str:
    """The holder of the Lease of one namespace; empty if there is none."""
    found = cluster.find(operator.LEASE.replace("kube-system", namespace))
    return "" if found is None else found["spec"].get("holderIdentity") or ""


def test_a_namespace_whose_lease_is_refused_says_so_until_it_is_served(
    environment: Environment, cluster: Cluster, other_namespace: str
) -> None:
    leases = "count/leases.coordination.k8s.io"
    quotas = core(other_namespace, "resourcequotas")
    body = {"metadata": {"name": "no-leases"}, "spec": {"hard": {leases: "0"}}}
    cluster.create(quotas, body)
    wait_for(
        "the quota in force",
        lambda: cluster.get(f"{quotas}/no-leases").get("status", {}).get("used") or {},
        lambda used: leases in used,
    )
    subject = Subject(environment, cluster, other_namespace, "unclaimed")
    subject.apply(manifest("unclaimed", 2, workload=None))
    subject.wait_events("LeaseRefused")
    (message,) = (
        item["message"]
        for item in cluster.list(core(other_namespace, "events"))
        if item["reason"] == "LeaseRefused"
    )
    assert f"Lease {other_namespace}/partisan-operator" in message
    assert "no-leases" in message
    answer = ready(cluster, other(cluster, ""))
    assert f"no operator serves namespace {other_namespace}" in answer
    assert subject.pods() == {}
    cluster.delete(f"{quotas}/no-leases")
    subject.wait_steady()
    assert holder(cluster, other_namespace) == "kube-system/partisan-operator"
    subject.delete()


@pytest.fixture(scope="module")
def second_release(environment: Environment, disruption: Disruption) -> Iterator[None]:
    """A second release that also serves all namespaces."""
    with disruption():
        operator.install_beside(environment, SECOND)
        yield
        operator.uninstall_release(environment, SECOND, SECOND)
        operator.kubectl(environment, "delete", "namespace", SECOND)


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


def serve_alone(environment: Environment, namespace: str) -> None:
    """Has the second release serve this namespace alone, which the first one serves too."""
    operator.install_beside(
        environment, SECOND, values=["--set", f"watchNamespaces={{{namespace}}}"]
    )


@pytest.mark.usefixtures("second_release")
def test_an_operator_of_one_namespace_stands_by_where_one_of_all_serves(
    new_subject: NewSubject, environment: Environment, cluster: Cluster
) -> None:
    subject = new_subject("shared")
    subject.apply(manifest("shared", 3, workload=None))
    subject.wait_steady()
    serve_alone(environment, subject.namespace)
    for pod in second_pods(cluster):
        answer = ready(cluster, pod, namespace=SECOND)
        assert answer.startswith(f"stands by for Lease {subject.namespace}/partisan-operator")
        assert "which kube-system/partisan-operator holds" in answer
    subject.patch(replicas=4)
    subject.wait("scaled", lambda s: s.steady and s.joined == 4)
    assert holder(cluster, subject.namespace) == "kube-system/partisan-operator"
    assert set(subject.restarts().values()) == {0}


@pytest.mark.usefixtures("second_release")
def test_an_operator_of_all_namespaces_does_nothing_where_another_serves(
    environment: Environment, cluster: Cluster, other_namespace: str
) -> None:
    serve_alone(environment, other_namespace)
    wait_for(
        "the second release serves",
        lambda: holder(cluster, other_namespace).partition("_")[0],
        lambda name: name in second_pods(cluster),
    )
    subject = Subject(environment, cluster, other_namespace, "theirs")
    subject.apply(manifest("theirs", 2, workload=None))
    subject.wait_steady()
    first = operator.leader(cluster)
    wait_for(
        "the first release knows it",
        lambda: ready(cluster, first),
        lambda answer: f"serves namespace {other_namespace}" in answer,
    )
    exported = operator.metrics(cluster)
    lease = f'partisan_operator_leader{{lease="{other_namespace}/partisan-operator"}} 0.0'
    assert lease in exported
    assert f'namespace="{other_namespace}"' not in exported
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
