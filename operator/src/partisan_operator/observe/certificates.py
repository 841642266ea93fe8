"""Observed state of the nodes' certificate, from the cluster's own authority or cert-manager."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partisan_operator.children.certificate import NAME_ANNOTATION
from partisan_operator.children.orphan import Orphan
from partisan_operator.children.tls_files import KEYS


@dataclass(frozen=True)
class Certificate:
    """The public part of a certificate."""

    fingerprint: str
    """SHA-256 of the DER form, as nodes report it: `sha256:9f31...`."""

    issuer: str
    """Fingerprint of the authority that signed it; empty if unknown."""

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
    """None: the Secret has no authority with a matching key."""


@dataclass(frozen=True)
class NodesSecret:
    """The Secret NAME-tls."""

    version: str
    certificate: Certificate | None
    """None: the Secret has no certificate with a matching key."""

    trusted: tuple[Certificate, ...]


@dataclass(frozen=True)
class Store:
    """Both Secrets; None for one that does not exist."""

    authority: AuthoritySecret | None = None
    nodes: NodesSecret | None = None
    foreign: tuple[str, ...] = ()
    """Names of those that do not belong to the cluster."""

    orphans: tuple[Orphan, ...] = ()
    """Those that the cluster may adopt."""


@dataclass(frozen=True)
class IssuedSecret:
    """The Secret of a cert-manager Certificate, without its contents."""

    uid: str
    certificate: str
    """Name of the Certificate that cert-manager made it for; empty if made by another client."""

    missing: tuple[str, ...]
    """Required keys that are absent."""

    owned: bool
    """Whether it is deleted with the cluster."""

    @classmethod
    def of(cls, secret: Mapping[str, Any], uid: str) -> "IssuedSecret":
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
    """State of a certificate that cert-manager issues."""

    refusal: str = ""
    """The API server's error where Certificates are not available; else empty."""

    live: Mapping[str, Any] | None = None
    """The Certificate."""

    secret: IssuedSecret | None = None
