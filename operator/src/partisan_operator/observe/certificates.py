"""Observed state of the nodes' certificate, from the cluster's own authority or cert-manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partisan_operator.children.certificate import NAME_ANNOTATION
from partisan_operator.children.tls_files import KEYS


@dataclass(frozen=True)
class Certificate:
    """What of a certificate matters here; all of it is public."""

    fingerprint: str
    """SHA-256 of the DER form, as nodes report it: `sha256:9f31...`."""

    issuer: str
    """Fingerprint of the authority that signed it, of those that are known; else empty."""

    not_after: datetime
    names: frozenset[str] = frozenset()
    """The DNS names that it is for."""

    pem: str = field(default="", repr=False)


@dataclass(frozen=True)
class AuthoritySecret:
    """The Secret NAME-ca."""

    version: str
    """`metadata.resourceVersion`."""

    certificate: Certificate | None
    """None: it holds no authority with the key that fits."""


@dataclass(frozen=True)
class NodesSecret:
    """The Secret NAME-tls."""

    version: str
    certificate: Certificate | None
    """None: it holds no certificate with the key that fits."""

    believed: tuple[Certificate, ...]


@dataclass(frozen=True)
class Store:
    """Both Secrets; None for one that does not exist."""

    authority: AuthoritySecret | None = None
    nodes: NodesSecret | None = None
    foreign: tuple[str, ...] = ()
    """Names of Secrets of these names that are not the cluster's."""


@dataclass(frozen=True)
class IssuedSecret:
    """The Secret that a Certificate names, without what is in it."""

    uid: str
    certificate: str
    """Name of the Certificate that cert-manager made it for; empty when it did not make it."""

    missing: tuple[str, ...]
    """Keys that it should hold and does not."""

    owned: bool
    """Whether it goes when the cluster goes."""

    @classmethod
    def of(cls, secret: Mapping[str, Any], uid: str) -> IssuedSecret:
        """Read a live Secret for the cluster with that uid."""
        metadata, data = secret["metadata"], secret.get("data") or {}
        owners = metadata.get("ownerReferences") or ()
        return cls(
            uid=metadata["uid"],
            certificate=(metadata.get("annotations") or {}).get(NAME_ANNOTATION, ""),
            missing=tuple(key for key in KEYS if not data.get(key)),
            owned=any(owner["uid"] == uid for owner in owners),
        )


@dataclass(frozen=True)
class Issued:
    """What there is of cert-manager's part."""

    refusal: str = ""
    """Why Certificates cannot be asked for, in the API server's words; empty when they can."""

    live: Mapping[str, Any] | None = None
    """The Certificate."""

    secret: IssuedSecret | None = None
