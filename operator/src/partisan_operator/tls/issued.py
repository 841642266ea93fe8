"""What is seen of a certificate that cert-manager keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partisan_operator.children.certificate import NAME_ANNOTATION
from partisan_operator.children.tls_files import KEYS


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
