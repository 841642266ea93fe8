"""The operator's connections to the API server are closed, or die silently."""

from collections.abc import Iterator

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e import podnet
from scale_tests.e2e.conftest import Disruption, NewSubject

pytestmark = pytest.mark.disrupts
"""Changes how many operators there are, and cuts off the one that acts."""

API_PORT = 443
"""Of the API server's Service."""

FATES = ("closed", "stale")
"""Of its connections."""


@pytest.fixture(scope="module")
def old(environment: Environment, new_subject: NewSubject) -> dict[str, Subject]:
    """A cluster whose run has ended, for each fate."""
    if not environment.local:
        pytest.skip("connections are cut in a pod's network namespace, on this machine")
    subjects = {fate: new_subject(f"{fate}-old") for fate in FATES}
    for subject in subjects.values():
        subject.apply(manifest(subject.name, 3))
    for subject in subjects.values():
        subject.wait_finished()
    return subjects


@pytest.fixture(scope="module")
def only_operator(
    old: dict[str, Subject], environment: Environment, cluster: Cluster, disruption: Disruption
) -> Iterator[Json]:
    """The pod of the operator, with no other that could take over from it."""
    with disruption():
        operator.install(environment, values=["--set", "replicas=1"])
        wait_for("one operator", lambda: operator.operator_pods(cluster), lambda p: len(p) == 1)
        leader = wait_for("an operator that acts", lambda: operator.leader(cluster), bool)
        (pod,) = operator.operator_pods(cluster)
        assert pod["metadata"]["name"] == leader
        yield pod
        operator.install(environment)


@pytest.mark.parametrize("fate", FATES)
def test_an_operator_without_its_watches_serves_old_and_new_clusters(
    new_subject: NewSubject,
    old: dict[str, Subject],
    only_operator: Json,
    cluster: Cluster,
    fate: str,
) -> None:
    """All its connections go at once, the watches among them; those made afterwards work."""
    subject = old[fate]
    ended = subject.status()
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
