"""The Secret with the cluster's token, by which nodes admit one another and the operator.

It is made once and never applied again: a new token would cut every node off from the others.
To rotate it, delete the Secret and restart all pods at once.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from partisan_operator.children.child import Child, child
from partisan_operator.models import PartisanCluster

KEY = "token"
TOKEN_BYTES = 32


def name_of(cluster: str) -> str:
    """Return the name of a cluster's token Secret."""
    return f"{cluster}-token"


def build(cluster: PartisanCluster, token: str) -> Child:
    """Return the Secret that holds `token`: 64 hexadecimal characters."""
    body = {
        "type": "Opaque",
        "immutable": True,
        "data": {KEY: base64.b64encode(token.encode()).decode()},
    }
    return child(cluster, "v1", "Secret", name_of(cluster.name), body)


def token_in(secret: Mapping[str, Any]) -> str | None:
    """Return the token that a live Secret holds; None when it holds no valid one."""
    try:
        token = base64.b64decode((secret.get("data") or {}).get(KEY, ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return token if re.fullmatch(f"[0-9a-f]{{{2 * TOKEN_BYTES}}}", token) else None
