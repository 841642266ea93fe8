"""A child object: its manifest, and the comparison with the live object."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partisan_operator.children import naming
from partisan_operator.models import PartisanCluster
from partisan_operator.models.quantities import same_quantity

Manifest = dict[str, Any]

HASH_ANNOTATION = "partisan.dev/manifest-hash"
"""On each child: the hash of the last applied manifest. It detects fields that are no longer
wanted, which a comparison of fields cannot."""


@dataclass(frozen=True)
class Child:
    """The wanted state of one object."""

    kind: str
    name: str
    manifest: Manifest

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name: the child's identity within the cluster's namespace."""
        return self.kind, self.name

    @property
    def hash(self) -> str:
        """The hash of the manifest, which `last_applied` returns after the apply."""
        return last_applied(self.manifest)


def child(
    cluster: PartisanCluster, api_version: str, kind: str, name: str, body: Manifest
) -> Child:
    """Return a child: `body` with the metadata that every child has."""
    manifest: Manifest = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": cluster.namespace,
            "labels": naming.labels(cluster.name) | body.pop("labels", {}),
            "ownerReferences": [cluster.owner_reference()],
        },
        **body,
    }
    manifest["metadata"]["annotations"] = {HASH_ANNOTATION: digest(manifest)}
    return Child(kind, name, manifest)


def digest(value: Any) -> str:
    """Return a short hash of a JSON value that does not depend on the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def last_applied(live: Mapping[str, Any]) -> str:
    """Return the hash of the last manifest applied to a live object; empty if none was."""
    return str((live["metadata"].get("annotations") or {}).get(HASH_ANNOTATION, ""))


def owned_by(live: Mapping[str, Any], uid: str) -> bool:
    """Whether the cluster with that uid is the controller of a live object."""
    references = live["metadata"].get("ownerReferences") or ()
    return any(entry.get("controller") and entry["uid"] == uid for entry in references)


def up_to_date(wanted: Child, live: Mapping[str, Any]) -> bool:
    """Whether applying the child would change nothing.

    The live object may have more fields than the manifest: defaults, fields of other managers.
    """
    return contains(live, wanted.manifest)


def contains(live: Any, wanted: Any) -> bool:
    """Whether a live value contains the wanted value."""
    if isinstance(wanted, Mapping):
        return isinstance(live, Mapping) and all(
            contains(live[key], value) if key in live else _means_absent(value)
            for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(live, list | tuple)
            and len(live) == len(wanted)
            and all(contains(left, right) for left, right in zip(live, wanted, strict=True))
        )
    return bool(live == wanted) or same_quantity(live, wanted)


def _means_absent(value: Any) -> bool:
    """Whether the API server drops the value: it does not store false, zero and empty."""
    return value in (None, False, 0, "") or value in ({}, [], ())
