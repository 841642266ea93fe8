"""The CRD and the children of a cluster are deleted and come back."""

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.subject import manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject

pytestmark = pytest.mark.alone(installs=True)
"""Deletes all clusters, and changes the operator's settings."""

DEFINITIONS = operator.CRD.rpartition("/")[0]


@pytest.fixture(scope="module", autouse=True)
def no_resync(environment: Environment) -> None:
    """An operator that resyncs too rarely to help: it depends on its watches."""
    operator.install(environment, values=["--set", "reconcile.resyncInterval=1h"])


def test_children_of_every_kind_come_back_without_a_resync(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("watched")
    subject.apply(manifest("watched", 3, workload=None))
    subject.wait_steady()
    before = subject.uids()
    namespace = subject.namespace
    config = core(namespace, "configmaps", "watched-config")
    wanted = cluster.get(config)["data"]
    paths = [
        core(namespace, "services", "watched"),
        f"apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/watched",
        f"apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/watched",
        config,
    ]
    for path in paths:
        _delete_and_wait(cluster, path)
    cluster.patch(config, {"data": {"node.config": "nonsense."}})
    wait_for("the configuration repaired", lambda: cluster.get(config)["data"], wanted.__eq__)
    subject.wait_steady()
    assert subject.uids() == before


def test_clusters_are_served_after_the_crd_was_deleted(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    old = new_subject("old")
    old.apply(manifest("old", 3, workload=None))
    old.wait_steady()
    pods = {pod["metadata"]["uid"] for pod in operator.operator_pods(cluster)}
    crd = cluster.get(operator.CRD)
    cluster.delete(operator.CRD)
    wait_for("the CRD gone", lambda: cluster.find(operator.CRD), lambda found: not found)
    wait_for("nothing left of the cluster", old.children, lambda left: not left)
    wait_for("an operator that reports it", lambda: _obstacles(cluster), all)
    cluster.create(DEFINITIONS, _fresh(crd))
    wait_for("operators that are ready", lambda: _obstacles(cluster), lambda said: not any(said))
    new = new_subject("new")
    new.apply(manifest("new", 3, workload=None))
    new.wait_steady()
    assert {pod["metadata"]["uid"] for pod in operator.operator_pods(cluster)} == pods
    for pod in operator.operator_pods(cluster):
        assert [c["restartCount"] for c in pod["status"]["containerStatuses"]] == [0]
    new.delete()


def _delete_and_wait(cluster: Cluster, path: str) -> None:
    """Deletes a child and waits until the operator has made another one."""
    uid = wait_for(f"the child {path}", lambda: _uid(cluster, path), bool)
    cluster.delete(path)
    wait_for(f"another {path}", lambda: _uid(cluster, path), lambda found: found not in ("", uid))


def _uid(cluster: Cluster, path: str) -> str:
    found = cluster.find(path)
    return "" if found is None else str(found["metadata"]["uid"])


def _fresh(crd: Json) -> Json:
    """A CRD as it was applied, to be applied again."""
    metadata = {key: crd["metadata"][key] for key in ("name", "labels", "annotations")}
    kept = {key: crd[key] for key in ("apiVersion", "kind", "spec")}
    return {**kept, "metadata": metadata}


def _obstacles(cluster: Cluster) -> list[str]:
    """The reason of each operator on /readyz; empty for one that is ready."""
    pods = [pod["metadata"]["name"] for pod in operator.operator_pods(cluster)]
    answers = [operator.readiness(cluster, pod) for pod in pods]
    return ["" if is_ready else said for is_ready, said in answers]
