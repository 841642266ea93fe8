"""The two secrets that all nodes of a cluster share, each in a Secret of its own.

The *token* authenticates nodes to one another. It is generated once and never applied again: a new
token would separate every node from the others. To rotate it, delete the Secret and all pods at
once.

The *bearer* authenticates the operator's orders. Nodes read it with each order, so a new one is
valid once the kubelets have written it: to rotate it, delete the Secret.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partisan_operator.children.child import Child, Manifest, child
from partisan_operator.models import PartisanCluster

SECRET_BYTES = 32


@dataclass(frozen=True)
class SharedSecret:
    """A kind of Secret that holds one value of 64 hexadecimal characters."""

    key: str
    """The key in the Secret, and the end of its name."""

    immutable: bool
    """Whether the value never changes while pods run. Kubelets do not watch such a Secret."""

    def name_of(self, cluster: str) -> str:
        """Return the name of a cluster's Secret."""
        return f"{cluster}-{self.key}"

    def build(self, cluster: PartisanCluster, value: str) -> Child:
        """Return the Secret that holds a value: 64 hexadecimal characters."""
        body: Manifest = {
            "type": "Opaque",
            "immutable": self.immutable,
            "data": {self.key: base64.b64encode(value.encode()).decode()},
        }
        return child(cluster, "v1", "Secret", self.name_of(cluster.name), body)

    def adopted(self, cluster: PartisanCluster, uid: str) -> Child:
        """Return the patch that makes the cluster own the live Secret with that uid."""
        made = child(cluster, "v1", "Secret", self.name_of(cluster.name), {})
        made.manifest["metadata"]["uid"] = uid
        return made

    def value_in(self, secret: Mapping[str, Any]) -> str | None:
        """Return the value of a live Secret; None if it is not valid."""
        try:
            encoded = (secret.get("data") or {}).get(self.key, "")
            value = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
        return value if re.fullmatch(f"[0-9a-f]{{{2 * SECRET_BYTES}}}", value) else None


TOKEN = SharedSecret("token", immutable=True)
BEARER = SharedSecret("bearer", immutable=False)
