"""The chart on a real cluster: its own test, an upgrade, and a life without the operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.subject import manifest
from scale_tests.harness import operator
from scale_tests.harness.environment import Environment
from scale_tests.harness.kube import Cluster, core
from scale_tests.harness.progress import wait_for


def test_helm_test_reaches_the_operator(environment: Environment) -> None:
    operator.test(environment)


def test_clusters_outlive_the_release_and_are_taken_over_by_the_next(
    new_subject: NewSubject, environment: Environment, cluster: Cluster
) -> None:
    subject = new_subject("kept")
    subject.apply(manifest("kept", 3))
    subject.wait_finished()
    before = subject.uids()
    operator.uninstall_release(environment)
    assert operator.operator_pods(cluster) == []
    assert cluster.find(operator.CRD) is not None
    assert subject.uids() == before
    operator.install(environment, values=["--set", "reconcile.interval=5s"])
    subject.patch(replicas=4)
    status = subject.wait("scaled by the next release", lambda s: s.steady and s.joined == 4)
    assert {name: subject.uids()[name] for name in before} == before
    assert status.components == 1
    # An upgrade to the defaults and a rollback from it, with a cluster that runs.
    operator.install(environment)
    assert interval(cluster) == "10s"
    operator.rollback(environment)
    assert interval(cluster) == "5s"
    subject.patch(replicas=5)
    subject.wait("scaled by the release before", lambda s: s.steady and s.joined == 5)
    assert {name: subject.uids()[name] for name in before} == before
    operator.install(environment)


def interval(cluster: Cluster) -> str:
    """The interval that the container of the operator that acts is told."""
    name = wait_for("an operator that acts", lambda: operator.leader(cluster), bool)
    pod = cluster.get(core(operator.NAMESPACE, "pods", name))
    (container,) = pod["spec"]["containers"]
    told = {variable["name"]: variable.get("value", "") for variable in container["env"]}
    return str(told["PARTISAN_OPERATOR_INTERVAL"])


@pytest.fixture
def defaults_restored(environment: Environment) -> Iterator[None]:
    """Installs the release as it was, once the evidence of a failure has been saved."""
    yield
    operator.install(environment)


@pytest.mark.usefixtures("defaults_restored")
def test_with_rights_in_one_namespace_the_operator_serves_that_one_alone(
    new_subject: NewSubject, environment: Environment
) -> None:
    inside = new_subject("inside")
    outside = replace(inside, namespace="default", name="e2e-outside")
    operator.install(environment, values=["--set", f"watchNamespaces={{{inside.namespace}}}"])
    outside.apply(manifest(outside.name, 1, workload=None))
    inside.apply(manifest("inside", 3))
    inside.wait_finished()
    assert outside.children() == []
    outside.delete()
