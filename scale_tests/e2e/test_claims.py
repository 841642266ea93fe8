"""Volumes that outlive the pods: a node continues, and what happens to claims of removed nodes."""

import pytest

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, core
from scale_tests.cluster.partisan import CLUSTER_LABEL
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.specs import STATE

NAME = "lasting"
NODES = 3

Actors = dict[str, tuple[str, int]]
"""For each node that answers: its actor, and what that has counted."""


@pytest.fixture(scope="module", autouse=True)
def default_storage_class(environment: Environment, cluster: Cluster) -> None:
    """The local cluster has one; a cluster of one's own may not."""
    classes = cluster.list("apis/storage.k8s.io/v1/storageclasses")
    key = "storageclass.kubernetes.io/is-default-class"
    marks = [(item["metadata"].get("annotations") or {}).get(key) for item in classes]
    if "true" not in marks and not environment.local:
        pytest.skip("the cluster has no default StorageClass")


@pytest.fixture(scope="module")
def subject(new_subject: NewSubject) -> Subject:
    """A cluster that counts, with its state in claims."""
    found = new_subject(NAME)
    workload = {"adCounter": counter(NODES, LASTING)}
    found.apply(manifest(NAME, NODES, workload=workload, pods=STATE))
    found.wait_counted(NODES * 3)
    return found


def actors(subject: Subject) -> Actors:
    found: Actors = {}
    for pod in subject.pods():
        try:
            workload = subject.node_json(pod)["workload"]
        except ApiError:  # it does not run yet, or no more
            continue
        found[pod] = (workload["actor"], workload["increments"])
    return found


def count_on(before: Actors, now: Actors) -> bool:
    """Whether all actors have counted further, and are the same."""
    return now.keys() == before.keys() and all(
        now[pod][0] == actor and now[pod][1] > increments
        for pod, (actor, increments) in before.items()
    )


def claims(subject: Subject) -> dict[str, str]:
    """The identity of each claim by its name."""
    items = subject.cluster.list(
        core(subject.namespace, "persistentvolumeclaims"), f"{CLUSTER_LABEL}={subject.name}"
    )
    return {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}


def test_counts_go_on_after_all_pods_are_deleted(subject: Subject) -> None:
    before, uids, kept = actors(subject), subject.uids(), claims(subject)
    assert sorted(before) == [f"{NAME}-{n}" for n in range(NODES)]
    assert sorted(kept) == [f"records-{NAME}-{n}" for n in range(NODES)]
    subject.kubectl("delete", "pods", "--selector", f"{CLUSTER_LABEL}={NAME}", "--wait=false")
    wait_for(
        "new pods",
        subject.uids,
        lambda now: now.keys() == uids.keys() and not set(now.values()) & set(uids.values()),
    )
    wait_for("the same actors count on", lambda: actors(subject), lambda now: count_on(before, now))
    assert claims(subject) == kept
    # Some of that may be of the moment before the deletion.
    again = actors(subject)
    wait_for("all count on", lambda: actors(subject), lambda now: count_on(again, now))
    subject.wait_counted(sum(increments for _, increments in again.values()))
    run = subject.wait_steady().workload
    assert (run.replaced_nodes, run.lost_increments) == (0, 0)


def test_a_scale_up_finds_the_claims_that_a_scale_down_kept(subject: Subject) -> None:
    before, kept = actors(subject), claims(subject)
    subject.patch(replicas=NODES - 1)
    wait_for("a pod less", subject.uids, lambda now: len(now) == NODES - 1)
    assert claims(subject) == kept
    subject.patch(replicas=NODES)
    wait_for("the same actors count on", lambda: actors(subject), lambda now: count_on(before, now))
    assert claims(subject) == kept


def test_claims_and_volumes_of_removed_nodes_go_if_the_spec_says_so(
    subject: Subject, cluster: Cluster
) -> None:
    before, uids = claims(subject), subject.uids()
    removed = f"records-{NAME}-{NODES - 1}"
    policy = {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}
    subject.patch(replicas=NODES - 1, pods=policy)
    left = {name: uid for name, uid in before.items() if name != removed}
    wait_for("its claim deleted", lambda: claims(subject), lambda now: now == left)

    def volumes() -> set[str]:
        items = cluster.list("api/v1/persistentvolumes")
        return {item["spec"].get("claimRef", {}).get("uid", "") for item in items}

    wait_for("its volume deleted", volumes, lambda now: before[removed] not in now)
    assert set(left.values()) <= volumes()
    assert subject.uids().items() <= uids.items()


def test_claims_outlive_a_deleted_cluster(subject: Subject) -> None:
    before = claims(subject)
    subject.delete()
    assert claims(subject) == before
