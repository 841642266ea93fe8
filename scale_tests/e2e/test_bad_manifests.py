"""The API server refuses manifests that can never work, with a message that names the field.

Most are dry runs against a copy of the CRD that no operator knows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from partisan_operator.children.desired import desired_children
from partisan_operator.models import PartisanCluster

from scale_tests.cluster.kube import ApiError, Cluster, Json, core
from scale_tests.cluster.subject import manifest
from scale_tests.e2e import crd_copy, hostile
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.hostile_applications import claimed
from scale_tests.e2e.published import published
from scale_tests.e2e.specs import pods
from scale_tests.e2e.unusual import UNUSUAL


@pytest.fixture(scope="module", autouse=True)
def copied(cluster: Cluster) -> Iterator[None]:
    with crd_copy.copied(cluster):
        yield


@pytest.mark.parametrize("kind", hostile.HOSTILE)
def test_a_bad_manifest_is_refused_by_the_name_of_the_field(
    cluster: Cluster, namespace: str, kind: str
) -> None:
    accepted, unnamed = [], []
    for spec, field in hostile.HOSTILE[kind]:
        body = manifest("bad", 3)
        body["spec"].update(spec)
        message = crd_copy.refusal(cluster, namespace, body)
        if not message:
            accepted.append(spec)
        elif field not in message:
            unnamed.append((spec, field, message))
    assert (accepted, unnamed) == ([], [])


@pytest.mark.parametrize(
    "name", ["1a", "a.b", "a-", "A", "ä", "", "a" * 41, "../x", "a b", "a_b"], ids=repr
)
def test_a_name_that_cannot_be_part_of_a_pods_is_refused(
    cluster: Cluster, namespace: str, name: str
) -> None:
    assert "name" in crd_copy.refusal(cluster, namespace, manifest(name, 3))


def test_every_example_and_every_manifest_of_the_documents_is_accepted(
    cluster: Cluster, namespace: str
) -> None:
    refused = {
        str(file): message
        for file, body in published()
        if (message := crd_copy.refusal(cluster, namespace, body))
    }
    assert refused == {}


@pytest.mark.parametrize("spec", UNUSUAL, ids=lambda spec: str(spec)[:60])
def test_an_unusual_manifest_is_accepted(
    cluster: Cluster, namespace: str, spec: dict[str, Any]
) -> None:
    body = manifest("unusual", 3)
    body["spec"].update(spec)
    assert crd_copy.refusal(cluster, namespace, body) == ""


def test_kubernetes_accepts_the_pods_of_every_unusual_manifest(
    cluster: Cluster, namespace: str
) -> None:
    for spec in UNUSUAL:
        body = manifest("unusual", 3)
        body["spec"].update(spec)
        whole = PartisanCluster.from_wire(crd_copy.stored(cluster, namespace, body))
        (shard, *_) = desired_children(whole, "localhost/node:dev").stateful_sets
        pod = {"apiVersion": "v1", "kind": "Pod", **shard.manifest["spec"]["template"]}
        pod["metadata"]["name"] = "unusual-0"
        cluster.request(
            "POST", core(namespace, "pods"), query={"dryRun": "All"}, body=pod, timeout=30.0
        )


SECRET: Json = {"tls": {"secretName": "a", "serverName": "a.example.org"}}
ISSUER: Json = {"tls": {"issuerRef": {"name": "a"}}}


@pytest.mark.parametrize(
    ("security", "changed", "field"),
    [
        (SECRET, {"tls": {"secretName": "b"}}, "spec.security.tls.secretName"),
        (SECRET, {"tls": {"serverName": "b.example.org"}}, "spec.security.tls.serverName"),
        (SECRET, {"tls": {"serverName": None}}, "spec.security.tls.serverName"),
        (SECRET, {"tls": {"secretName": None, "clusterCa": {}}}, "spec.security.tls"),
        (SECRET, {"tls": None}, "spec.security"),
        (ISSUER, {"tls": {"issuerRef": {"name": "b"}}}, "spec.security.tls.issuerRef"),
        (ISSUER, {"tls": {"issuerRef": {"kind": "ClusterIssuer"}}}, "spec.security.tls.issuerRef"),
        (ISSUER, {"tls": {"issuerRef": {"group": "example.org"}}}, "spec.security.tls.issuerRef"),
        ({}, {"tls": {"clusterCa": {}}}, "spec.security"),
    ],
)
def test_the_trust_of_nodes_cannot_change(
    cluster: Cluster, namespace: str, security: Json, changed: Json, field: str
) -> None:
    with _created(cluster, namespace, security=security) as name:
        refusal = crd_copy.update_refusal(cluster, namespace, name, {"security": changed})
        assert field in refusal
        assert crd_copy.update_refusal(cluster, namespace, name, {"paused": True}) == ""


@pytest.mark.parametrize(
    ("created", "changed", "field"),
    [
        (claimed("a"), claimed("b"), "spec.pods.volumeClaimTemplates"),
        (claimed("a"), claimed("a", "b"), "spec.pods.volumeClaimTemplates"),
        (claimed("a"), pods(volumeClaimTemplates=None), "spec.pods.volumeClaimTemplates"),
        (claimed("a"), {"pods": None}, "spec.pods.volumeClaimTemplates"),
        (pods(), claimed("a"), "spec.pods.volumeClaimTemplates"),
        ({}, claimed("a"), "spec.pods.volumeClaimTemplates"),
        (claimed("a", stateClaim="a"), pods(stateClaim=None), "spec.pods.stateClaim"),
        (claimed("a"), pods(stateClaim="a"), "spec.pods.stateClaim"),
    ],
)
def test_the_claims_of_pods_cannot_change(
    cluster: Cluster, namespace: str, created: Json, changed: Json, field: str
) -> None:
    with _created(cluster, namespace, **created) as name:
        assert field in crd_copy.update_refusal(cluster, namespace, name, changed)
        kept = pods(persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete"})
        assert crd_copy.update_refusal(cluster, namespace, name, kept) == ""


@pytest.mark.parametrize("replicas", [0, -1, 1025])
def test_the_scale_subresource_is_no_way_round(
    cluster: Cluster, namespace: str, replicas: int
) -> None:
    with _created(cluster, namespace) as name:
        scale = crd_copy.path(namespace, name) + "/scale"
        with pytest.raises(ApiError, match="replicas"):
            cluster.patch(scale, {"spec": {"replicas": replicas}})


def test_nothing_is_created_of_a_bad_manifest(new_subject: NewSubject) -> None:
    subject = new_subject("bad")
    with pytest.raises(ApiError, match=r"spec\.priorityClassName"):
        subject.apply(manifest("bad", 3, priorityClassName="../x"))
    assert subject.cluster.find(subject.path) is None
    assert subject.children() == []


def test_a_change_of_an_immutable_field_is_refused_and_the_cluster_runs_on(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("fixed")
    subject.apply(manifest("fixed", 3, workload=None))
    with pytest.raises(ApiError, match=r"spec\.replicas"):
        subject.patch(replicas=0)
    assert subject.wait_steady().joined == 3


@contextmanager
def _created(cluster: Cluster, namespace: str, **spec: Any) -> Iterator[str]:
    """A manifest of the copy while the block runs; its name."""
    body = crd_copy.of(manifest("changing", 3, **spec))
    cluster.create(crd_copy.path(namespace), body)
    try:
        yield "changing"
    finally:
        cluster.delete(crd_copy.path(namespace, "changing"))
