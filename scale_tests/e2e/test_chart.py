"""The chart on a real cluster: its own test, its releases, and clusters without the operator."""

import json
from dataclasses import replace

import pytest

from charts.tools.previous import unpacked, version
from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, core
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject

pytestmark = pytest.mark.alone(installs=True)
"""Installs, upgrades and removes the operator that all tests rely on."""


LEASES = "partisan-operator-leases"
_RULE = {
    "apiGroups": ["coordination.k8s.io"],
    "resources": ["leases"],
    "verbs": ["get", "create", "update"],
}
LEASE_RIGHTS = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": LEASES},
        "rules": [_RULE],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": LEASES},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": LEASES,
        },
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": operator.RELEASE,
                "namespace": operator.NAMESPACE,
            }
        ],
    },
]
"""The previous chart runs the operator of this revision, which claims namespaces by Leases."""


def test_helm_test_reaches_the_operator(environment: Environment) -> None:
    operator.install(environment)
    operator.test(environment)


def test_a_cluster_keeps_its_pods_from_install_to_uninstall(
    new_subject: NewSubject, environment: Environment, cluster: Cluster
) -> None:
    operator.uninstall_release(environment)
    rights = ["--set-json", f"extraObjects={json.dumps(LEASE_RIGHTS)}"]
    operator.install(environment, chart=unpacked(), values=rights)
    subject = new_subject("kept")
    subject.apply(manifest("kept", 3))
    subject.wait_finished()
    pods = UnchangedPods(subject)
    assert installed(cluster) == version(unpacked())

    operator.install(environment, values=["--set", "reconcile.interval=5s"])
    assert installed(cluster) == version(operator.CHART)
    assert interval(cluster) == "5s"
    pods.check_served("upgraded", 4)

    operator.rollback(environment)
    assert installed(cluster) == version(unpacked())
    pods.check_served("rolled back", 5)

    operator.install(environment)
    operator.uninstall_release(environment)
    assert operator.operator_pods(cluster) == []
    assert cluster.find(operator.CRD) is not None
    pods.check()

    operator.install(environment)
    pods.check_served("taken over by the next release", 6)
    # Without clusters the namespace is given up at once, for the operator of the next test.
    subject.delete()


class UnchangedPods:
    """A record of a cluster's pods, their identities and restarts, to compare with later."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._before = self._now()

    def check(self) -> None:
        """Asserts that none was replaced or restarted. New pods are allowed."""
        now = self._now()
        assert {name: now.get(name) for name in self._before} == self._before

    def check_served(self, what: str, replicas: int) -> None:
        """Asserts that the present operator scales the cluster and keeps its pods."""
        self._subject.patch(replicas=replicas)
        self._subject.wait(what, lambda s: s.steady and s.joined == replicas)
        self.check()
        self._before = self._now()

    def _now(self) -> dict[str, tuple[str, int]]:
        restarts = self._subject.restarts()
        return {name: (uid, restarts[name]) for name, uid in self._subject.uids().items()}


def installed(cluster: Cluster) -> str:
    """The version of the chart that the operator and the CRD come from."""
    path = f"apis/apps/v1/namespaces/{operator.NAMESPACE}/deployments/{operator.RELEASE}"
    charts = {cluster.get(of)["metadata"]["labels"]["helm.sh/chart"] for of in (path, operator.CRD)}
    (chart,) = charts
    return str(chart).removeprefix("partisan-operator-")


def interval(cluster: Cluster) -> str:
    """The interval in the environment of the leading operator's container."""
    name = wait_for("an operator that acts", lambda: operator.leader(cluster), bool)
    pod = cluster.get(core(operator.NAMESPACE, "pods", name))
    (container,) = pod["spec"]["containers"]
    given = {variable["name"]: variable.get("value", "") for variable in container["env"]}
    return str(given["PARTISAN_OPERATOR_INTERVAL"])


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
