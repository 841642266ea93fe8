"""The Certificate that requests the nodes' Secret from cert-manager."""

from collections.abc import Mapping
from typing import Any

from partisan_operator.children import naming, tls_files
from partisan_operator.children.child import Child, Manifest, child
from partisan_operator.models import PartisanCluster

KIND = "Certificate"
GROUP, VERSION = "cert-manager.io", "v1"
NAME_ANNOTATION = "cert-manager.io/certificate-name"
"""On Secrets of cert-manager: the Certificate that they belong to."""

_LONGEST_COMMON_NAME = 64


def build(cluster: PartisanCluster) -> Child | None:
    """Return the Certificate of a cluster; None where no issuer is named."""
    tls = cluster.spec.security.tls
    if tls is None or tls.issuer_ref is None:
        return None
    name = tls_files.server_name(cluster)
    spec: Manifest = {
        "secretName": tls_files.made_secret_name(cluster.name),
        # `must-gather` finds the Secret by these.
        "secretTemplate": {"labels": naming.labels(cluster.name)},
        "dnsNames": [name],
        # Some issuers require one; others reject one that is not a DNS name of the certificate.
        **({"commonName": name} if len(name) <= _LONGEST_COMMON_NAME else {}),
        "usages": ["digital signature", "server auth", "client auth"],
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "issuerRef": tls.issuer_ref.to_wire(),
    }
    return child(cluster, f"{GROUP}/{VERSION}", KIND, cluster.name, {"spec": spec})


def obstacle(live: Mapping[str, Any]) -> str:
    """Return cert-manager's message on a Certificate that is not ready; empty if it is."""
    conditions = (live.get("status") or {}).get("conditions") or ()
    ready = next((entry for entry in conditions if entry.get("type") == "Ready"), None)
    if ready is None:
        return "cert-manager has not processed it yet: check that it runs"
    return "" if ready.get("status") == "True" else str(ready.get("message", ""))


def adoption(cluster: PartisanCluster, uid: str) -> Child:
    """Return the patch that makes the cluster an owner of the Secret with that uid.

    cert-manager does not delete its Secrets. Not as controller: with some settings of cert-manager
    that is the Certificate.
    """
    name = tls_files.made_secret_name(cluster.name)
    owner = cluster.owner_reference() | {"controller": False, "blockOwnerDeletion": False}
    metadata = {
        "name": name,
        "namespace": cluster.namespace,
        "uid": uid,
        "ownerReferences": [owner],
    }
    return Child("Secret", name, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
