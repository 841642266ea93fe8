"""The Secrets of a cluster with an authority of its own: its key, and the nodes' certificate.

They are not applied like other children: their contents are generated once, and replaced by
`decide.rotation` alone. A write names the version that it replaces, so it fails after a concurrent
one.
"""

import base64

from partisan_operator.children.child import Child, child
from partisan_operator.children.tls_files import AUTHORITIES, CERTIFICATE, KEY, made_secret_name
from partisan_operator.models import PartisanCluster

_TYPE = "kubernetes.io/tls"


def authority_name(cluster: str) -> str:
    """Return the name of the Secret with a cluster's authority, which no pod mounts."""
    return f"{cluster}-ca"


def authority(cluster: PartisanCluster, certificate: str, key: str, replaces: str | None) -> Child:
    """Return the Secret of an authority: PEM texts."""
    files = {CERTIFICATE: certificate, KEY: key}
    return _secret(cluster, authority_name(cluster.name), files, replaces)


def nodes(
    cluster: PartisanCluster, certificate: str, key: str, authorities: str, replaces: str | None
) -> Child:
    """Return the Secret that the nodes mount: PEM texts, one after the other in `authorities`."""
    files = {CERTIFICATE: certificate, KEY: key, AUTHORITIES: authorities}
    return _secret(cluster, made_secret_name(cluster.name), files, replaces)


def _secret(
    cluster: PartisanCluster, name: str, files: dict[str, str], replaces: str | None
) -> Child:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in files.items()}
    made = child(cluster, "v1", "Secret", name, {"type": _TYPE, "data": data})
    if replaces is not None:
        made.manifest["metadata"]["resourceVersion"] = replaces
    return made
