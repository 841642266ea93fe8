"""The operator's connections to the API server are closed, or die silently."""

from collections.abc import Iterator

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json
from scale_tests.cluster.subject import manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e import podnet
from scale_tests.e2e.conftest import NewSubject

pytestmark = pytest.mark.alone
"""Changes how many operators there are, and cuts off the one that acts."""

API_PORT = 443
"""Of the API server's Service."""


@pytest.fixture(scope="module")
def only_operator(environment: Environment, cluster: Cluster) -> Iterator[Json]:
    """The pod of the operator, with no other that could take over from it."""
    if not environment.local:
        pytest.skip("connections are cut in a pod's network namespace, on this machine")
    operator.install(environment, values=["--set", "replicas=1"])
    wait_for("one operator", lambda: operator.operator_pods(cluster), lambda pods: len(pods) == 1)
    leader = wait_for("an operator that acts", lambda: operator.leader(cluster), bool)
    (pod,) = operator.operator_pods(cluster)
    assert pod["metadata"]["name"] == leader
    yield pod
    operator.install(environment)


@pytest.mark.parametrize("fate", ["closed", "stale"])
def test_an_operator_without_its_watches_serves_old_and_new_clusters(
    new_subject: NewSubject, only_operator: Json, cluster: Cluster, fate: str
) -> None:
    """All its connections go at once, the watches among them; those made afterwards work."""
    subject = new_subject(f"{fate}-old")
    subject.apply(manifest(subject.name, 3))
    ended = subject.wait_finished()
    before = subject.uids()
    silently = fate == "stale"
    with podnet.severed(only_operator, port=API_PORT, silently=silently) as connections:
        assert connections >= 2
        subject.patch(replicas=4)
        subject.wait("scaled", lambda s: s.steady and s.joined == 4)
        other = new_subject(f"{fate}-new")
        other.apply(manifest(other.name, 3))
        other.wait_finished()
    after = subject.uids()
    assert {name: after[name] for name in before} == before
    assert set(subject.restarts().values()) == {0}
    assert subject.status().workload == ended.workload
    (pod,) = operator.operator_pods(cluster)
    assert pod["metadata"]["uid"] == only_operator["metadata"]["uid"]
    assert [c["restartCount"] for c in pod["status"]["containerStatuses"]] == [0]
    other.delete()
    subject.delete()
