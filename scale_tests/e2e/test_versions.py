"""Both versions of the API: what is written as one reads the same as the other.

On a copy of the CRD that no operator knows.
"""

import json
from collections.abc import Iterator

import pytest
import yaml

from scale_tests.cluster import crd
from scale_tests.cluster.kube import ApiError, Cluster, Json
from scale_tests.cluster.subject import manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e import crd_copy
from scale_tests.e2e.published import examples

OLD, NEW = (version["name"] for version in crd.definition()["spec"]["versions"])


@pytest.fixture(scope="module", autouse=True)
def copied(cluster: Cluster) -> Iterator[None]:
    with crd_copy.copied(cluster):
        wait_served(cluster, NEW)
        yield


def wait_served(cluster: Cluster, version: str, *, served: bool = True) -> None:
    """Waits until the API server serves the copy in a version, or no longer does."""

    def found() -> bool | None:
        try:
            return cluster.find(crd_copy.path("default", version=version)) is not None
        except ApiError as error:
            if error.status in (429, 503):  # its storage is being made
                return None
            raise

    wait_for(f"{version} served: {served}", found, lambda now: now is served)


def test_kubectl_shows_the_new_version(cluster: Cluster) -> None:
    wait_for(
        "the preferred version",
        lambda: cluster.find(f"apis/{crd_copy.GROUP}") or {},
        lambda group: group.get("preferredVersion", {}).get("version") == NEW,
    )


@pytest.mark.parametrize(("written", "read"), [(OLD, NEW), (NEW, OLD)])
def test_every_example_reads_the_same_as_the_other_version(
    cluster: Cluster, namespace: str, written: str, read: str
) -> None:
    checked = 0
    for file, body in examples():
        name = body["metadata"]["name"]
        created = cluster.create(
            crd_copy.path(namespace, version=written), crd_copy.of(body, version=written)
        )
        where = crd_copy.path(namespace, name, version=read)
        other = cluster.get(where)
        assert other == crd_copy.of(created, version=read), file
        # Written back as it was read, it is no change.
        answer: Json = json.loads(cluster.request("PUT", where, body=other))
        assert answer["metadata"]["generation"] == 1, file
        again = cluster.get(crd_copy.path(namespace, name, version=written))
        assert again["spec"] == created["spec"], file
        cluster.delete(where)
        checked += 1
    assert checked >= 10


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize(
    ("replicas", "servers", "expected"),
    [(0, 1, "spec.replicas"), (1, 2, "servers must not exceed replicas")],
    ids=["schema", "rule"],
)
def test_both_versions_refuse_the_same(
    cluster: Cluster, namespace: str, version: str, replicas: int, servers: int, expected: str
) -> None:
    overlay = {"kind": "ClientServer", "clientServer": {"servers": servers}}
    body = manifest("bad", replicas, workload=None, overlay=overlay)
    assert expected in crd_copy.refusal(cluster, namespace, body, version=version)
    assert crd_copy.refusal(cluster, namespace, manifest("good", 3), version=version) == ""


def test_status_and_scale_are_those_of_both_versions(cluster: Cluster, namespace: str) -> None:
    body = crd_copy.of(manifest("scaled", 3), version=NEW)
    cluster.create(crd_copy.path(namespace, version=NEW), body)
    old = crd_copy.path(namespace, "scaled", version=OLD)
    new = crd_copy.path(namespace, "scaled", version=NEW)
    apply_status(cluster, namespace, "scaled", {"phase": "Ready", "replicas": 3})
    status = cluster.get(new)["status"]
    assert (status["phase"], status["replicas"]) == ("Ready", 3)
    assert status == cluster.get(old)["status"]
    cluster.patch(f"{new}/scale", {"spec": {"replicas": 5}})
    assert cluster.get(f"{old}/scale")["spec"] == {"replicas": 5}
    assert cluster.get(old)["spec"]["replicas"] == 5


@pytest.fixture
def previous(cluster: Cluster, namespace: str) -> Iterator[str]:
    """A cluster that was written as the new version, under a CRD that has the old one alone."""
    current = yaml.safe_load(crd.FILE.read_text())
    older = yaml.safe_load(crd.FILE.read_text())
    del older["spec"]["versions"][1:]
    body = crd_copy.of(manifest("kept", 3), version=NEW)
    cluster.create(crd_copy.path(namespace, version=NEW), body)
    crd_copy.replace(cluster, older)
    wait_served(cluster, NEW, served=False)
    wait_served(cluster, OLD)
    yield "kept"
    crd_copy.replace(cluster, current)
    wait_served(cluster, NEW)


def test_the_operator_serves_a_cluster_of_the_new_version_after_a_rollback_of_the_crd(
    cluster: Cluster, namespace: str, previous: str
) -> None:
    where = crd_copy.path(namespace, previous, version=OLD)
    assert cluster.get(where)["spec"]["replicas"] == 3
    # As upgrade.md has it: entries of a version that is gone forbid server-side applies.
    cluster.patch(where, {"metadata": {"managedFields": [{}]}})
    apply_status(cluster, namespace, previous, {"phase": "Paused"})
    assert cluster.get(where)["status"]["phase"] == "Paused"


def apply_status(cluster: Cluster, namespace: str, name: str, status: Json) -> None:
    """Applies a status as the operator does: server-side, as the old version. Raises ApiError."""
    cluster.request(
        "PATCH",
        f"{crd_copy.path(namespace, name, version=OLD)}/status",
        query={"fieldManager": "test", "force": "true"},
        body=crd_copy.of(
            {"kind": "PartisanCluster", "metadata": {"name": name}, "status": status}, version=OLD
        ),
        content_type="application/apply-patch+yaml",
    )
