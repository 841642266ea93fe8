"""cert-manager keeps a cluster's certificate.

It is not there itself: the CRD of Certificates is a minimal stand-in, and the test plays the
controller by writing the Secret that a Certificate asks for.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.sealing import certified, secret, secrets, used
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.localkube.certificates import issue_authority

DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CERTIFICATES = "certificates.cert-manager.io"

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
"""The CRD of cert-manager that the operator needs: a stand-in without its schema."""


@pytest.fixture
def definition(cluster: Cluster) -> Iterator[Any]:
    """Serves Certificates when called, until the test ends."""
    path = f"{DEFINITIONS}/{CERTIFICATES}"
    if cluster.find(path) is not None:
        pytest.skip("cert-manager is installed here, and the test would play its part")
    yield lambda: cluster.create(DEFINITIONS, DEFINITION)
    cluster.delete(path)


def test_a_missing_cert_manager_is_reported_then_used_and_its_secret_ends_with_the_cluster(
    new_subject: NewSubject, cluster: Cluster, definition: Any, tmp_path: Path
) -> None:
    subject = new_subject("issued")
    issuer = {"name": "company", "kind": "ClusterIssuer"}
    subject.apply(certified(subject, 3, {"issuerRef": issuer}))
    subject.wait_degraded("CertManagerUnavailable", "Install cert-manager")
    subject.wait_events("CertManagerUnavailable")
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
    wait_for("no Secret", lambda: secrets(subject), lambda left: not left)
