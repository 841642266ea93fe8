"""The TLS files of a node: from a Secret to the paths in `node.config`.

The Secret is provided by the user, by cert-manager, or by the operator's own authority. The files
change with the Secret while the node runs, and the node reads them again.
"""

from partisan_operator.children.child import Manifest
from partisan_operator.children.erlang_terms import Atom, Term
from partisan_operator.models import PartisanCluster

CERTIFICATE, KEY, AUTHORITIES = "tls.crt", "tls.key", "ca.crt"
KEYS = (CERTIFICATE, KEY, AUTHORITIES)
"""The keys that the Secret must have."""

_VOLUME, _DIRECTORY = "tls", "/etc/partisan/tls"


def made_secret_name(cluster: str) -> str:
    """Return the name of the Secret that the operator makes, or has cert-manager make."""
    return f"{cluster}-tls"


def secret_name(cluster: PartisanCluster) -> str | None:
    """Return the name of the Secret that the nodes mount; None without TLS."""
    tls = cluster.spec.security.tls
    if tls is None:
        return None
    return tls.secret_name or made_secret_name(cluster.name)


def server_name(cluster: PartisanCluster) -> str:
    """Return the DNS name in the certificates of all nodes."""
    tls = cluster.spec.security.tls
    given = "" if tls is None else tls.server_name
    return given or f"{cluster.name}.{cluster.namespace}.svc"


def volumes(cluster: PartisanCluster) -> list[Manifest]:
    """Return the pod's volume with the files; none without TLS.

    It lists the keys, so that Kubernetes starts no pod while one is missing.
    """
    name = secret_name(cluster)
    if name is None:
        return []
    secret = {
        "secretName": name,
        "defaultMode": 0o440,
        "items": [{"key": key, "path": key} for key in KEYS],
    }
    return [{"name": _VOLUME, "secret": secret}]


def mounts(cluster: PartisanCluster) -> list[Manifest]:
    """Return the container's mount of the volume; none without TLS."""
    if secret_name(cluster) is None:
        return []
    return [{"name": _VOLUME, "mountPath": _DIRECTORY, "readOnly": True}]


def tls_term(cluster: PartisanCluster) -> Term | None:
    """Return the value of `tls` in `node.config`; None without TLS."""
    if secret_name(cluster) is None:
        return None
    certificate, key, authority = (f"{_DIRECTORY}/{name}" for name in KEYS)
    return {
        Atom("certfile"): certificate,
        Atom("keyfile"): key,
        Atom("cacertfile"): authority,
        Atom("server_name"): server_name(cluster),
    }
