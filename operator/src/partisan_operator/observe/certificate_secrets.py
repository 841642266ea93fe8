"""Reads the two Secrets of a cluster's own authority. Unusable contents count as absent."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization

from partisan_operator.children.child import owned_by
from partisan_operator.children.orphan import Orphan, orphan_of
from partisan_operator.children.tls_files import AUTHORITIES, CERTIFICATE, KEY
from partisan_operator.observe.certificates import (
    AuthoritySecret,
    Certificate,
    NodesSecret,
    Store,
)

_UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm)
"""Errors of the library for invalid PEM, certificates and keys."""


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its key, both PEM. Its text never contains the key."""

    certificate: str
    key: str = field(repr=False)


def read_store(
    authority: Mapping[str, Any] | None, nodes: Mapping[str, Any] | None, uid: str
) -> Store:
    """Read the live Secrets NAME-ca and NAME-tls of the cluster with that uid."""
    others = [
        (secret["metadata"]["name"], _orphan_of(secret))
        for secret in (authority, nodes)
        if secret is not None and not owned_by(secret, uid)
    ]
    own = None if authority is None else _own_authority(authority)
    signers = [] if own is None else [own]
    return Store(
        authority=None
        if authority is None
        else AuthoritySecret(_version(authority), None if own is None else _read(own, signers)),
        nodes=None if nodes is None else _nodes_secret(nodes, signers),
        foreign=tuple(name for name, orphan in others if orphan is None),
        orphans=tuple(orphan for _, orphan in others if orphan is not None),
    )


def _orphan_of(secret: Mapping[str, Any]) -> Orphan | None:
    """Return a Secret as an orphan: its name begins with that of its cluster."""
    return orphan_of("Secret", secret, secret["metadata"]["name"].rpartition("-")[0])


def key_pair(secret: Mapping[str, Any]) -> KeyPair:
    """Return the certificate and the key of a Secret, unchecked."""
    return KeyPair(_text(secret, CERTIFICATE), _text(secret, KEY))


def pem(certificate: x509.Certificate) -> str:
    """Return a certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _nodes_secret(secret: Mapping[str, Any], signers: list[x509.Certificate]) -> NodesSecret:
    trusted = _certificates(_text(secret, AUTHORITIES))
    pair = key_pair(secret)
    shown = next(iter(_certificates(pair.certificate)), None)
    usable = shown is not None and _fits(shown, pair.key)
    return NodesSecret(
        version=_version(secret),
        certificate=_read(shown, [*signers, *trusted]) if shown is not None and usable else None,
        trusted=tuple(_read(one, [one]) for one in trusted),
    )


def _own_authority(secret: Mapping[str, Any]) -> x509.Certificate | None:
    """Return the authority whose key the Secret holds too."""
    pair = key_pair(secret)
    certificate = next(iter(_certificates(pair.certificate)), None)
    if certificate is None or not _signed_by(certificate, certificate):
        return None
    return certificate if _fits(certificate, pair.key) else None


def _read(certificate: x509.Certificate, signers: Iterable[x509.Certificate]) -> Certificate:
    issuer = next((one for one in signers if _signed_by(certificate, one)), None)
    return Certificate(
        fingerprint=_fingerprint(certificate),
        issuer="" if issuer is None else _fingerprint(issuer),
        not_after=certificate.not_valid_after_utc,
        names=_names(certificate),
        pem=pem(certificate),
    )


def _certificates(text: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(text.encode())
    except _UNREADABLE:
        return []


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, *_UNREADABLE):
        return False
    return True


def _fits(certificate: x509.Certificate, key: str) -> bool:
    try:
        private = serialization.load_pem_private_key(key.encode(), password=None)
        return private.public_key() == certificate.public_key()
    except _UNREADABLE:
        return False


def _names(certificate: x509.Certificate) -> frozenset[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, *_UNREADABLE):
        return frozenset()
    return frozenset(names.get_values_for_type(x509.DNSName))


def _fingerprint(certificate: x509.Certificate) -> str:
    return f"sha256:{certificate.fingerprint(hashes.SHA256()).hex()}"


def _version(secret: Mapping[str, Any]) -> str:
    return str(secret["metadata"]["resourceVersion"])


def _text(secret: Mapping[str, Any], key: str) -> str:
    """Return a value of a Secret as text; empty if it is not text."""
    encoded = (secret.get("data") or {}).get(key, "")
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
