"""Children that a cluster left behind without an owner are adopted by the next one of its name."""

from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.partisan import CHILDREN, CLUSTER_LABEL
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.outcomes import assert_accounted

NODES = 3

OTHERS = ("pods", "endpointslices")
"""Kinds whose objects belong to other children."""


def make_again(subject: Subject, body: Json) -> None:
    """Deletes a cluster without its children, and creates it again."""
    before = subject.status().uid
    subject.kubectl("delete", "pcl", subject.name, "--cascade=orphan")
    subject.apply(body)
    subject.wait("another object", lambda status: status.uid != before)


def owners(subject: Subject) -> dict[str, str]:
    """The uid of the controller of each of its children, as kind/name; empty where it has none."""
    found = {}
    for kind, api in CHILDREN.items():
        if kind in OTHERS:
            continue
        path = f"{api}/namespaces/{subject.namespace}/{kind}"
        for item in subject.cluster.list(path, f"{CLUSTER_LABEL}={subject.name}"):
            references = item["metadata"].get("ownerReferences") or ()
            uids = [entry["uid"] for entry in references if entry.get("controller")]
            found[f"{kind}/{item['metadata']['name']}"] = "".join(uids)
    return found


def wait_adopted(subject: Subject, children: set[str]) -> None:
    """Waits until the present object controls all these children."""
    uid = subject.status().uid
    wait_for(
        "all children adopted",
        lambda: owners(subject),
        lambda now: now.keys() >= children and set(now.values()) == {uid},
    )


def test_a_cluster_that_is_made_again_takes_over_its_pods_and_their_counts(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("orphaned")
    body = manifest("orphaned", NODES, workload={"adCounter": counter(NODES, LASTING)})
    subject.apply(body)
    subject.wait_counted(NODES * 3)
    children, pods = set(owners(subject)), subject.incarnations()
    run, value = subject.status().workload.run, subject.status().workload.value
    make_again(subject, body)
    subject.wait_healthy(NODES)
    wait_adopted(subject, children)
    subject.wait_events("Adopted")
    subject.wait_counted(value + 1)
    assert subject.incarnations() == pods
    finished = subject.end_run()
    assert finished.workload.run == run
    assert (finished.workload.replaced_nodes, finished.workload.lost_increments) == (0, 0)
    assert_accounted(subject, finished)
    assert subject.incarnations() == pods
    # What it adopted goes with it.
    subject.delete()


def test_the_certificates_of_a_cluster_that_is_made_again_are_kept(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("sealed")
    body = manifest("sealed", 2, workload=None, security={"tls": {"clusterCa": {}}})
    subject.apply(body)
    subject.wait_healthy(2)
    secrets = [
        core(subject.namespace, "secrets", f"sealed-{end}") for end in ("ca", "tls", "token")
    ]
    kept = [cluster.get(path)["data"] for path in secrets]
    children, pods = set(owners(subject)), subject.incarnations()
    make_again(subject, body)
    subject.wait_healthy(2)
    wait_adopted(subject, children)
    assert subject.incarnations() == pods
    assert [cluster.get(path)["data"] for path in secrets] == kept


def test_an_object_of_another_client_is_not_adopted(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("taken")
    path = core(subject.namespace, "configmaps")
    labels = {CLUSTER_LABEL: "taken", "app.kubernetes.io/managed-by": "partisan-operator"}
    metadata = {"name": "taken-config", "labels": labels}
    cluster.create(path, {"metadata": metadata, "data": {"a": "b"}})
    subject.apply(manifest("taken", 1, workload=None))
    subject.wait_degraded("NameConflict", "taken-config")
    assert cluster.get(f"{path}/taken-config")["data"] == {"a": "b"}
    cluster.delete(f"{path}/taken-config")
    subject.wait_healthy(1)
