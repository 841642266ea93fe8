"""The TLS files of a node: from the user's Secret to the paths in `node.config`.

The Secret is the user's, or cert-manager's; the operator mounts it and does not look into it. The
files change under the running node when the Secret does, and the node reads them anew.
"""

from __future__ import annotations

from partisan_operator.children.child import Manifest
from partisan_operator.children.erlang_terms import Atom, Term
from partisan_operator.models import PartisanCluster, PartisanClusterSpec

KEYS = ("tls.crt", "tls.key", "ca.crt")
"""What the Secret has to hold."""

_VOLUME, _DIRECTORY = "tls", "/etc/partisan/tls"


def volumes(spec: PartisanClusterSpec) -> list[Manifest]:
    """Return the pod's volume with the files; nothing without TLS.

    It names the keys, so that Kubernetes starts no pod while one of them is missing.
    """
    if spec.security.tls is None:
        return []
    secret = {
        "secretName": spec.security.tls.secret_name,
        "defaultMode": 0o440,
        "items": [{"key": key, "path": key} for key in KEYS],
    }
    return [{"name": _VOLUME, "secret": secret}]


def mounts(spec: PartisanClusterSpec) -> list[Manifest]:
    """Return where the container finds the volume; nothing without TLS."""
    if spec.security.tls is None:
        return []
    return [{"name": _VOLUME, "mountPath": _DIRECTORY, "readOnly": True}]


def tls_term(cluster: PartisanCluster) -> Term | None:
    """Return the value of `tls` in `node.config`; None without TLS."""
    tls = cluster.spec.security.tls
    if tls is None:
        return None
    certificate, key, authority = (f"{_DIRECTORY}/{name}" for name in KEYS)
    return {
        Atom("certfile"): certificate,
        Atom("keyfile"): key,
        Atom("cacertfile"): authority,
        Atom("server_name"): tls.server_name or f"{cluster.name}.{cluster.namespace}.svc",
    }
