"""A new default image rolls one cluster after the other, and a broken one halts at the first."""

from itertools import pairwise
from pathlib import Path

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment, add_image
from scale_tests.cluster.kube import Cluster, core
from scale_tests.cluster.partisan import ClusterStatus
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject

pytestmark = pytest.mark.alone(installs=True)
"""Gives all clusters another image."""

NAMES = ("fleet-a", "fleet-b", "fleet-c")
NODES = 2
BROKEN = "registry.invalid/nobody/nothing:1"

DOCKERFILE = """\
ARG BUILDER
ARG NODE
FROM ${NODE}
LABEL dev.partisan.fleet=next
"""


@pytest.fixture(scope="module")
def next_image(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The node's image under another name, where the cluster pulls it."""
    directory: Path = tmp_path_factory.mktemp("image") / "next-node"
    directory.mkdir()
    (directory / "Dockerfile").write_text(DOCKERFILE)
    return add_image(environment, str(directory))


@pytest.fixture(scope="module")
def fleet(new_subject: NewSubject, environment: Environment) -> list[Subject]:
    """Clusters without an image of their own."""
    set_default(environment, environment.node_image)
    subjects = [new_subject(name) for name in NAMES]
    for subject in subjects:
        subject.apply(manifest(subject.name, NODES, workload=None))
    for subject in subjects:
        subject.wait_steady()
    return subjects


def set_default(environment: Environment, image: str) -> None:
    """Gives the operator another default image, and waiting clusters a short pace."""
    values = [*operator.image_values("nodeImage", image), "--set", "reconcile.interval=2s"]
    operator.install(environment, values=values)


def rollout(subject: Subject) -> tuple[str, str]:
    """The default image that a cluster has, and how far it has followed it."""
    found = subject.json()["status"].get("defaultImage") or {}
    return found.get("image", ""), found.get("rollout", "")


def is_halted(status: ClusterStatus) -> bool:
    progressing = status.condition("Progressing")
    return progressing is not None and progressing.reason == "FleetHalted"


def created(subject: Subject) -> list[str]:
    """When its pods were created, the first one first."""
    return sorted(pod["metadata"]["creationTimestamp"] for pod in subject.pods().values())


def test_clusters_follow_a_new_default_image_one_after_the_other(
    fleet: list[Subject], environment: Environment, next_image: str
) -> None:
    before = [subject.uids() for subject in fleet]
    most = 0

    def rollouts() -> list[tuple[str, str]]:
        nonlocal most
        now = [rollout(subject) for subject in fleet]
        most = max(most, sum(state == "Rolling" for _, state in now))
        return now

    set_default(environment, next_image)
    wait_for("all follow", rollouts, ([(next_image, "RolledOut")] * len(fleet)).__eq__)
    assert most == 1
    for subject, uids in zip(fleet, before, strict=True):
        subject.wait_steady()
        assert not set(uids.values()) & set(subject.uids().values())
    for earlier, later in pairwise(fleet):
        assert created(earlier)[-1] <= created(later)[0]
    fleet[-1].wait_events("WaitingForFleet")


def test_a_broken_default_image_halts_at_the_first_cluster_until_the_next_one(
    fleet: list[Subject], environment: Environment, cluster: Cluster, next_image: str
) -> None:
    first, *others = fleet
    before = {subject.name: subject.uids() for subject in fleet}
    set_default(environment, BROKEN)
    first.wait_degraded("ImagePullFailed")
    for subject in others:
        halted = subject.wait("halted", is_halted).condition("Progressing")
        assert halted is not None
        assert f"{first.namespace}/{first.name}" in halted.message
    # The next leader knows it from the statuses.
    leader = operator.leader(cluster)
    cluster.delete(core(operator.NAMESPACE, "pods", leader), gracePeriodSeconds="0")
    for subject in others:
        subject.patch(rollout={"maxUnavailable": 1})
        subject.wait("still halted", lambda status: status.current and is_halted(status))
        assert subject.uids() == before[subject.name]
    set_default(environment, next_image)
    for subject in fleet:
        subject.wait_healthy(NODES)
    # One pod of the first cluster had the broken image.
    now = first.uids()
    assert sum(now[name] != uid for name, uid in before[first.name].items()) == 1
    for subject in others:
        subject.wait("not halted", lambda status: not is_halted(status))
        assert subject.uids() == before[subject.name]
