"""Certificates that the operator sees to: its own authority, and cert-manager's.

cert-manager itself is not there. Its definition of Certificates is a minimal stand-in, and the test
plays its controller by writing the Secret that a Certificate asks for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.sealing import secret
from scale_tests.e2e.subject import Subject, manifest
from scale_tests.harness.commands import ROOT
from scale_tests.harness.kube import ApiError, Cluster, Json, core
from scale_tests.harness.progress import wait_for
from scale_tests.localkube.certificates import issue_authority

pytestmark = pytest.mark.alone
"""Another test's operator must not find Certificates defined, and then not."""

NODES = 3
KUBELET_SECONDS = 240.0
"""How long a kubelet may take to bring a changed Secret into a pod, on a busy machine."""

DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CERTIFICATES = "certificates.cert-manager.io"
LIFETIMES = {"duration": "240h", "certificateDuration": "1h", "renewBefore": "10m"}

DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": CERTIFICATES},
    "spec": {
        "group": "cert-manager.io",
        "scope": "Namespaced",
        "names": {"kind": "Certificate", "plural": "certificates", "singular": "certificate"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
"""What the operator needs to be served of cert-manager: a stand-in without its schema."""


def sealed(name: str, tls: Json) -> Json:
    return manifest(name, NODES, security={"tls": tls}, workload=None)


def rotation(subject: Subject) -> Json:
    found: Json = (subject.json().get("status") or {}).get("clusterCa") or {}
    return found


def used(subject: Subject) -> set[tuple[str, tuple[str, ...]]]:
    """What the nodes say they show and believe."""
    told = [subject.node_json(pod)["tls"] for pod in subject.pods()]
    return {(entry["certificate"], tuple(sorted(entry["authorities"]))) for entry in told}


def secrets(subject: Subject, name: str) -> list[str]:
    """The Secrets of the cluster's certificates that there are."""
    found = subject.cluster.list(core(subject.namespace, "secrets"))
    names = [item["metadata"]["name"] for item in found]
    return [entry for entry in names if entry in (f"{name}-ca", f"{name}-tls")]


def look_now(subject: Subject) -> None:
    """Has the kubelet bring changed Secrets into the pods.

    It does when it looks at a pod, which is once a minute or so, and when the pod changes.
    """
    for name in subject.pods():
        path = core(subject.namespace, "pods", name)
        annotations = {"partisan.dev/looked-at": str(time.monotonic())}
        subject.cluster.patch(path, {"metadata": {"annotations": annotations}})


def refused(subject: Subject) -> int:
    """Connections that nodes have turned away for the sake of a certificate."""
    pattern = r'partisan_refused_connections_total\{reason="(?!closed|timeout)\w+"\} (\d+)'
    texts = [subject.metrics(pod) for pod in subject.pods()]
    return sum(int(count) for text in texts for count in re.findall(pattern, text))


def events(subject: Subject) -> set[str]:
    items = subject.cluster.list(core(subject.namespace, "events"))
    return {item["reason"] for item in items if item["involvedObject"]["name"] == subject.name}


def test_the_operators_authority_is_replaced_under_running_nodes_and_goes_with_the_cluster(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("vault")
    subject.apply(sealed("vault", {"clusterCa": LIFETIMES})).wait_steady()
    pods = subject.pods()
    mounted = {
        volume["secret"]["secretName"]
        for pod in pods.values()
        for volume in pod["spec"]["volumes"]
        if "secret" in volume
    }
    assert mounted == {"vault-tls", "vault-token"}
    (first,) = used(subject)
    before = refused(subject)

    # As for an authority that nears its end, for which nobody wants to wait here.
    cluster.delete(core(subject.namespace, "secrets", "vault-ca"))
    seen: list[tuple[str, int]] = []

    def state() -> tuple[str, int]:
        look_now(subject)
        found = rotation(subject)
        now = (found["rotation"], found["loaded"])
        if now not in seen:
            seen.append(now)
        return now

    def rotated(now: tuple[str, int]) -> bool:
        return "AuthorityRotated" in events(subject) and now == ("Settled", NODES)

    wait_for("the authority's replacement", state, rotated, stall_seconds=KUBELET_SECONDS)
    order = [name for name, _ in seen]
    assert order.index("DistributingAuthority") < order.index("RetiringAuthority")
    (last,) = used(subject)
    assert last[0] != first[0]
    assert len(first[1]) == len(last[1]) == 1
    assert first[1] != last[1]
    assert events(subject) >= {"AuthorityRotationStarted", "CertificateRenewed", "AuthorityRotated"}

    # Nobody was cut off, restarted or refused.
    status = subject.wait_steady()
    assert status.joined == NODES
    assert {name: pod["metadata"]["uid"] for name, pod in pods.items()} == subject.uids()
    assert set(subject.restarts().values()) == {0}
    assert refused(subject) == before

    # Whose lifetime grows is due at once.
    expires = rotation(subject)["certificateExpiresAt"]
    subject.patch(
        security={"tls": {"clusterCa": {"certificateDuration": "48h", "renewBefore": "24h"}}}
    )

    def looked() -> Json:
        look_now(subject)
        return rotation(subject)

    wait_for(
        "the certificate's renewal",
        looked,
        lambda now: now["loaded"] == NODES and now["certificateExpiresAt"] > expires,
        stall_seconds=KUBELET_SECONDS,
    )
    assert used(subject) != {last}
    assert {authorities for _, authorities in used(subject)} == {last[1]}

    archive = subject.kubectl("get", "partisanclusters", "vault", "-o", "yaml")
    assert "PRIVATE KEY" not in archive
    subject.delete()
    wait_for("no Secret", lambda: secrets(subject, "vault"), lambda left: not left)


@pytest.fixture
def definition(cluster: Cluster) -> Iterator[Any]:
    """Serves Certificates when called, until the test ends."""
    path = f"{DEFINITIONS}/{CERTIFICATES}"
    if cluster.find(path) is not None:
        pytest.skip("cert-manager is installed here, and the test would play its part")
    yield lambda: cluster.create(DEFINITIONS, DEFINITION)
    cluster.delete(path)


def test_cert_manager_is_missed_then_asked_and_its_secret_goes_with_the_cluster(
    new_subject: NewSubject, cluster: Cluster, definition: Any, tmp_path: Path
) -> None:
    subject = new_subject("issued")
    issuer = {"name": "company", "kind": "ClusterIssuer"}
    subject.apply(sealed("issued", {"issuerRef": issuer}))
    status = subject.wait("cert-manager missed", lambda found: found.trouble is not None)
    assert status.trouble is not None
    assert status.trouble.reason == "CertManagerUnavailable"
    assert "Install cert-manager" in status.trouble.message
    assert "CertManagerUnavailable" in events(subject)
    assert not subject.pods()

    definition()
    path = f"apis/cert-manager.io/v1/namespaces/{subject.namespace}/certificates/issued"
    asked = wait_for("the Certificate", lambda: cluster.find(path), lambda found: found is not None)
    assert asked is not None
    name = f"issued.{subject.namespace}.svc"
    assert asked["spec"]["dnsNames"] == [name]
    assert asked["spec"]["issuerRef"] == {**issuer, "group": "cert-manager.io"}
    assert asked["spec"]["secretName"] == "issued-tls"
    assert not subject.pods()

    # The test plays cert-manager's controller from here.
    issue_authority(tmp_path)
    made = secret(subject, tmp_path)
    made["metadata"]["annotations"] = {"cert-manager.io/certificate-name": "issued"}
    made["metadata"]["labels"] = asked["spec"]["secretTemplate"]["labels"]
    cluster.create(core(subject.namespace, "secrets"), made)
    subject.wait_steady()
    assert len(used(subject)) == 1

    def owners() -> list[str]:
        live = cluster.get(core(subject.namespace, "secrets", "issued-tls"))
        return [entry["kind"] for entry in live["metadata"].get("ownerReferences") or ()]

    wait_for("the Secret's owner", owners, lambda kinds: "PartisanCluster" in kinds)
    subject.delete()
    wait_for("no Secret", lambda: secrets(subject, "issued"), lambda left: not left)


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        ({}, "exactly one of secretName"),
        ({"secretName": "a", "clusterCa": {}}, "exactly one of secretName"),
        ({"issuerRef": {"name": "a"}, "clusterCa": {}}, "exactly one of secretName"),
        ({"clusterCa": {}, "serverName": "a.example.org"}, "serverName"),
        ({"clusterCa": {"duration": "100h", "certificateDuration": "51h"}}, "at most half"),
        ({"clusterCa": {"certificateDuration": "30h", "renewBefore": "16h"}}, "at most half"),
        ({"clusterCa": {"renewBefore": "1m"}}, "between 10m and 87600h"),
    ],
)
def test_what_cannot_be_is_refused_with_the_fix(
    new_subject: NewSubject, tls: Json, expected: str
) -> None:
    with pytest.raises(ApiError, match=expected):
        new_subject("wrong").apply(sealed("wrong", tls))


def test_the_example_is_accepted(new_subject: NewSubject) -> None:
    path = str(ROOT / "examples" / "tls.yaml")
    assert "created" in new_subject("ads-tls").kubectl("apply", "--dry-run=server", "-f", path)


def test_the_source_of_a_certificate_is_fixed(new_subject: NewSubject, cluster: Cluster) -> None:
    subject = new_subject("fixed")
    subject.apply(sealed("fixed", {"clusterCa": {}}))
    with pytest.raises(ApiError, match="cannot move between"):
        subject.patch(security={"tls": {"clusterCa": None, "secretName": "mine"}})
    with pytest.raises(ApiError, match="neither added nor removed"):
        subject.patch(security={"tls": None})
    cluster.delete(subject.path)
