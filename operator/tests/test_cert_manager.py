"""A cluster with a certificate of cert-manager, from its absence to the deletion."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fake_cluster import CERTIFICATE, CLUSTER, NAMESPACE
from test_kills import SPEC, Kubernetes, Rig

ASKED = f"/apis/cert-manager.io/v1{NAMESPACE}/certificates/ads"
ISSUED = {**SPEC, "security": {"tls": {"issuerRef": {"name": "company"}}}}
OWN = {**SPEC, "security": {"tls": {"clusterCa": {}}}}
SECRET: dict[str, Any] = {
    "metadata": {"name": "ads-tls", "annotations": {"cert-manager.io/certificate-name": "ads"}},
    "data": dict.fromkeys(("tls.crt", "tls.key", "ca.crt"), "eA=="),
}
"""Secret as cert-manager writes it; no test reads its contents."""


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    api = Kubernetes()
    yield Rig(api, await api.start())
    await api.stop()


def condition(rig: Rig, kind: str) -> dict[str, Any]:
    found = rig.api.objects[CLUSTER]["status"]["conditions"]
    return next(entry for entry in found if entry["type"] == kind)


def events(rig: Rig) -> list[str]:
    return [
        item["reason"]
        for path, item in rig.api.objects.items()
        if path.startswith(f"/api/v1{NAMESPACE}/events/")
    ]


async def test_the_operator_waits_for_cert_manager_and_owns_its_secret(rig: Rig) -> None:
    rig.api.unserved.add("certificates")
    rig.create(ISSUED)
    await rig.settle()
    assert condition(rig, "Degraded")["reason"] == "CertManagerUnavailable"
    assert events(rig) == ["CertManagerUnavailable"]
    assert not rig.world.pods()

    rig.api.unserved.clear()
    await rig.settle()
    assert condition(rig, "Degraded")["status"] == "False"
    assert condition(rig, "Progressing")["reason"] == "WaitingForCertificate"
    assert rig.api.objects[ASKED]["spec"]["secretName"] == "ads-tls"
    assert not rig.world.pods()

    rig.api.put(CERTIFICATE, SECRET)
    await rig.settle()
    assert condition(rig, "Ready")["status"] == "True"
    assert rig.api.objects[CERTIFICATE]["data"] == SECRET["data"]

    rig.change(None)
    await rig.settle()
    assert rig.world.own() == {}


async def test_an_edited_or_deleted_certificate_is_applied_again(rig: Rig) -> None:
    rig.create(ISSUED)
    rig.api.put(CERTIFICATE, SECRET)
    await rig.settle()
    asked = rig.api.objects[ASKED]["spec"]
    rig.api.objects[ASKED]["spec"] = {**asked, "dnsNames": ["another"]}
    await rig.settle()
    assert rig.api.objects[ASKED]["spec"] == asked
    del rig.api.objects[ASKED]
    await rig.settle()
    assert rig.api.objects[ASKED]["spec"] == asked


@pytest.mark.parametrize("spec", [ISSUED, OWN])
async def test_between_two_resyncs_a_settled_certificate_needs_no_request(
    rig: Rig, spec: dict[str, Any]
) -> None:
    rig.create(spec)
    if spec is ISSUED:
        rig.api.put(CERTIFICATE, SECRET)
    await rig.settle()
    await rig._loop._reconcile()
    rig.api.log.clear()
    await rig._loop._reconcile()
    assert rig.api.log
    assert not [r.path for r in rig.api.log if "secrets" in r.path or "certificates" in r.path]
