"""PartisanClusters with TLS between their nodes, and the certificates that they need."""

import base64
from pathlib import Path

from scale_tests.cluster.kube import Json, core
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.localkube.certificates import Identity, issue


def secret(subject: Subject, authority: Path) -> Json:
    """The Secret that cert-manager would write for a cluster: one certificate for all nodes."""
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
    """A cluster with TLS; no NetworkPolicy blocks unauthenticated peers."""
    tls = {"secretName": f"{subject.name}-tls"}
    policy = {"enabled": False}
    return manifest(subject.name, replicas, security={"tls": tls}, networkPolicy=policy)


def certified(subject: Subject, replicas: int, tls: Json) -> Json:
    """A cluster that counts nothing; `tls` names the source of its certificate."""
    return manifest(subject.name, replicas, security={"tls": tls}, workload=None)


def used(subject: Subject) -> set[tuple[str, tuple[str, ...]]]:
    """The certificates that the nodes report, with the authorities that they trust."""
    reported = [subject.node_json(pod)["tls"] for pod in subject.pods()]
    return {(entry["certificate"], tuple(sorted(entry["authorities"]))) for entry in reported}


def secrets(subject: Subject) -> list[str]:
    """The Secrets of the cluster's certificates that there are."""
    found = subject.cluster.list(core(subject.namespace, "secrets"))
    names = [item["metadata"]["name"] for item in found]
    return [name for name in names if name in (f"{subject.name}-ca", f"{subject.name}-tls")]
