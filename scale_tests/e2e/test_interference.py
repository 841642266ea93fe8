"""Other clients write to a cluster's children and evict its pods."""

from scale_tests.cluster.crowding import crowded
from scale_tests.cluster.kube import ApiError, Cluster, Json, core
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject


def test_foreign_fields_are_kept_and_owned_fields_are_repaired(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("disputed")
    subject.apply(manifest("disputed", 3, workload=None))
    subject.wait_steady()
    before = subject.uids()
    shard = f"apis/apps/v1/namespaces/{subject.namespace}/statefulsets/disputed"
    config = core(subject.namespace, "configmaps", "disputed-config")
    wanted = cluster.get(config)["data"]
    mine = {"metadata": {"annotations": {"example.com/owner": "team-a"}}}
    for _ in range(3):
        cluster.patch(shard, {**mine, "spec": {"replicas": 5}})
        wait_for(
            "the number of pods repaired",
            lambda: cluster.get(shard)["spec"]["replicas"],
            lambda replicas: replicas == 3,
        )
    cluster.patch(config, {**mine, "data": {"node.config": "nonsense."}})
    cluster.delete(core(subject.namespace, "services", "disputed"))
    wait_for("the configuration repaired", lambda: cluster.get(config)["data"], wanted.__eq__)
    wait_for(
        "the Service created again",
        lambda: cluster.find(core(subject.namespace, "services", "disputed")),
        bool,
    )
    for path in (shard, config):
        assert cluster.get(path)["metadata"]["annotations"]["example.com/owner"] == "team-a"
    subject.wait_steady()
    # Pods that the foreign number of replicas made may still be terminating.
    wait_for("the pods as before", subject.uids, before.__eq__)


def test_evictions_respect_the_budget(new_subject: NewSubject, cluster: Cluster) -> None:
    """Evicts the pods of one cluster, as `kubectl drain` does."""
    subject = new_subject("drained")
    subject.apply(manifest("drained", 5, workload=None, rollout={"maxUnavailable": 1}))
    subject.wait_steady()
    budget = f"apis/policy/v1/namespaces/{subject.namespace}/poddisruptionbudgets/drained"
    wait_for("the budget", lambda: cluster.find(budget), lambda b: _allowed(b) == 1)
    before = subject.uids()
    first, *others = sorted(before)
    with crowded(subject):
        wait_for("an eviction", lambda: _evict(subject, first), bool)
        assert not _evict(subject, others[0])
    for name in others:
        while not _evict(subject, name):
            wait_for(
                "a disruption that the budget allows",
                lambda: cluster.find(budget),
                lambda b: _allowed(b) == 1,
            )
    wait_for(
        "a successor of each pod",
        subject.uids,
        lambda now: len(now) == len(before) and not set(before.values()) & set(now.values()),
    )
    assert subject.wait_steady().components == 1


def _allowed(budget: Json | None) -> int:
    return 0 if budget is None else int(budget.get("status", {}).get("disruptionsAllowed", 0))


def _evict(subject: Subject, pod: str) -> bool:
    """Asks for a pod's eviction; returns whether the budget allows it now."""
    path = core(subject.namespace, "pods", f"{pod}/eviction")
    metadata = {"name": pod, "namespace": subject.namespace}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    try:
        subject.cluster.create(path, body)
    except ApiError as error:
        if error.status != 429:
            raise
        return False
    return True
