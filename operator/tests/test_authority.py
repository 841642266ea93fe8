"""Keys and certificates: creation, reading, and secrecy of the keys."""

import base64
import logging
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID

from fake_api import FakeApi
from fake_cluster import AUTHORITY, CERTIFICATE
from partisan_operator.act import mint
from partisan_operator.act.certificate_writer import CertificateWriter
from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import Kube
from partisan_operator.decide.rotation import MakeAuthority, Publish
from partisan_operator.models.security import ClusterCa
from partisan_operator.observe.certificate_secrets import key_pair, read_store
from world import START, cluster

DAY = timedelta(days=1)
NAME = "ads.default.svc"
SEALED = cluster({"security": {"tls": {"clusterCa": {}}}})


def pair() -> tuple[mint.KeyPair, mint.KeyPair]:
    authority = mint.new_authority("ads", START, 365 * DAY)
    return authority, mint.issue(authority, NAME, START, 90 * DAY)


def secret(name: str, owner: str = "cluster-uid", **data: str) -> dict[str, Any]:
    encoded = {
        key.replace("_", "."): base64.b64encode(text.encode()).decode()
        for key, text in data.items()
    }
    owners = [{"uid": owner, "controller": True}]
    metadata = {"name": name, "resourceVersion": "7", "ownerReferences": owners}
    return {"metadata": metadata, "data": encoded}


def stored() -> tuple[dict[str, Any], dict[str, Any]]:
    authority, node = pair()
    return (
        secret("ads-ca", tls_crt=authority.certificate, tls_key=authority.key),
        secret("ads-tls", tls_crt=node.certificate, tls_key=node.key, ca_crt=authority.certificate),
    )


def test_a_certificate_is_one_for_servers_and_clients_of_its_authority() -> None:
    authority, node = pair()
    root, leaf = (x509.load_pem_x509_certificate(p.certificate.encode()) for p in (authority, node))
    store = verification.Store([root])
    builder = verification.PolicyBuilder().store(store).time(START)
    builder.build_server_verifier(x509.DNSName(NAME)).verify(leaf, [])
    assert builder.build_client_verifier().verify(leaf, []).subjects == [x509.DNSName(NAME)]
    usages = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert set(usages) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    for certificate in (root, leaf):
        key = certificate.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        assert key.curve.name == "secp256r1"
        assert certificate.not_valid_before_utc == START - mint.CLOCK_SKEW
    assert leaf.not_valid_after_utc == START + 90 * DAY


def test_an_authority_signs_no_other_authority_and_has_a_unique_name() -> None:
    first, second = (
        x509.load_pem_x509_certificate(
            mint.new_authority("a" * 40, START, DAY).certificate.encode()
        )
        for _ in range(2)
    )
    assert first.subject != second.subject
    limits = first.extensions.get_extension_for_class(x509.BasicConstraints)
    assert limits.critical
    assert (limits.value.ca, limits.value.path_length) == (True, 0)


def test_a_certificate_ends_no_later_than_its_authority() -> None:
    authority = mint.new_authority("ads", START, DAY)
    leaf = x509.load_pem_x509_certificate(
        mint.issue(authority, NAME, START, 90 * DAY).certificate.encode()
    )
    assert leaf.not_valid_after_utc == START + DAY


def test_both_secrets_are_read() -> None:
    authority, nodes = stored()
    store = read_store(authority, nodes, "cluster-uid")
    assert store.authority is not None
    assert store.nodes is not None
    assert store.authority.certificate is not None
    assert store.nodes.certificate is not None
    assert store.nodes.certificate.issuer == store.authority.certificate.fingerprint
    assert store.nodes.certificate.names == {NAME}
    assert store.nodes.certificate.not_after == START + 90 * DAY
    assert store.nodes.trusted == (store.authority.certificate,)
    assert store.authority.certificate.fingerprint.startswith("sha256:")
    assert store.foreign == ()
    assert read_store(None, None, "cluster-uid").nodes is None


def test_foreign_secrets_are_reported() -> None:
    authority, nodes = stored()
    assert read_store(authority, nodes, "another-uid").foreign == ("ads-ca", "ads-tls")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"tls_crt": "no PEM", "tls_key": "no PEM"},
        {"tls_crt": pair()[1].certificate, "tls_key": pair()[1].key},
        {"tls_crt": pair()[0].certificate, "tls_key": pair()[0].key},
    ],
)
def test_an_authority_without_a_matching_key_counts_as_absent(data: dict[str, str]) -> None:
    found = read_store(secret("ads-ca", **data), secret("ads-tls", **data), "cluster-uid")
    assert found.authority is not None
    assert found.authority.certificate is None
    assert found.nodes is not None
    assert found.nodes.certificate is None


def test_a_certificate_of_an_unknown_authority_has_no_issuer() -> None:
    _, node = pair()
    other = mint.new_authority("ads", START, DAY)
    found = read_store(
        None,
        secret("ads-tls", tls_crt=node.certificate, tls_key=node.key, ca_crt=other.certificate),
        "cluster-uid",
    )
    assert found.nodes is not None
    assert found.nodes.certificate is not None
    assert found.nodes.certificate.issuer == ""


@pytest.fixture
async def api() -> Any:
    server = FakeApi()
    await server.start()
    yield server
    await server.stop()


def keeper(kube: Kube) -> CertificateWriter:
    return CertificateWriter(kube, lambda: START)


async def test_the_first_steps_create_two_secrets_owned_by_the_cluster(api: FakeApi) -> None:
    await keeper(api.kube).perform(SEALED, ClusterCa(), MakeAuthority(None))
    store = read_store(api.objects[AUTHORITY], None, "cluster-uid")
    assert store.authority is not None
    made = store.authority.certificate
    assert made is not None
    await keeper(api.kube).perform(SEALED, ClusterCa(), Publish((made,), made.fingerprint, None))
    store = read_store(api.objects[AUTHORITY], api.objects[CERTIFICATE], "cluster-uid")
    assert store.nodes is not None
    assert store.nodes.trusted == (made,)
    assert not store.foreign
    assert "ca.key" not in api.objects[CERTIFICATE]["data"]
    authority, nodes = (key_pair(api.objects[path]) for path in (AUTHORITY, CERTIFICATE))
    assert authority.key != nodes.key


async def test_a_step_based_on_outdated_secrets_is_rejected(api: FakeApi) -> None:
    authority, nodes = stored()
    api.put(AUTHORITY, authority)
    api.put(CERTIFICATE, nodes)
    before = dict(api.objects)
    for step in (
        MakeAuthority(None),
        MakeAuthority("another version"),
        Publish((), "another authority", "1"),
        Publish((), None, "another version"),
    ):
        with pytest.raises(KubeError) as refusal:
            await keeper(api.kube).perform(SEALED, ClusterCa(), step)
        assert refusal.value.code == 409
    assert api.objects == before


async def test_no_key_is_in_a_log_or_in_the_text_of_a_value(
    api: FakeApi, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="partisan_operator")
    await keeper(api.kube).perform(SEALED, ClusterCa(), MakeAuthority(None))
    authority = key_pair(api.objects[AUTHORITY])
    store = read_store(api.objects[AUTHORITY], None, "cluster-uid")
    assert "PRIVATE" in authority.key
    for text in (caplog.text, repr(authority), repr(store)):
        assert "PRIVATE" not in text
        assert authority.key.splitlines()[1] not in text
    assert "made an authority: Secret ads-ca" in caplog.text
