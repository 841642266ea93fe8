"""A PartisanCluster with TLS between its nodes, and the certificate that it needs."""

from __future__ import annotations

import base64
from pathlib import Path

from scale_tests.e2e.subject import Subject, manifest
from scale_tests.harness.kube import Json
from scale_tests.localkube.certificates import Identity, issue


def secret(subject: Subject, authority: Path) -> Json:
    """What cert-manager would write for a cluster: one certificate for all nodes."""
    name = f"{subject.name}.{subject.namespace}.svc"
    issue(authority, Identity(file=subject.name, user=name, addresses=(f"DNS:{name}",)))
    files = {
        "tls.crt": authority / f"{subject.name}.crt",
        "tls.key": authority / f"{subject.name}.key",
        "ca.crt": authority / "ca.crt",
    }
    data = {key: base64.b64encode(path.read_bytes()).decode() for key, path in files.items()}
    metadata = {"name": f"{subject.name}-tls"}
    return {"metadata": metadata, "type": "kubernetes.io/tls", "data": data}


def sealed(subject: Subject, replicas: int) -> Json:
    """A cluster with TLS; no NetworkPolicy keeps strangers from trying."""
    tls = {"secretName": f"{subject.name}-tls"}
    policy = {"enabled": False}
    return manifest(subject.name, replicas, security={"tls": tls}, networkPolicy=policy)
