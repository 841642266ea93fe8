"""The cluster's certificate authority and its certificates, made with openssl.

Every endpoint asks for a client certificate; Kubernetes authorises by names and groups in subjects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host.commands import capture
from scale_tests.localkube.nodes import Node, nodes
from scale_tests.localkube.settings import CLUSTER_DOMAIN, Settings

VALID_DAYS = "3650"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who a certificate speaks for."""

    file: str
    """The name of the certificate and key files, without their endings."""

    user: str
    """The common name: the Kubernetes user."""

    group: str = ""
    """The organisation: the Kubernetes group."""

    addresses: tuple[str, ...] = ()
    """Subject alternative names in openssl's notation; those of servers only."""


def identities(settings: Settings) -> list[Identity]:
    """Every certificate that the cluster needs."""
    machine, service = f"IP:{settings.node_address}", f"IP:{settings.kubernetes_address}"
    local = ("DNS:localhost", "IP:127.0.0.1")
    apiserver_names = tuple(
        f"DNS:kubernetes{suffix}"
        for suffix in ("", ".default", ".default.svc", f".default.svc.{CLUSTER_DOMAIN}")
    )
    return [
        Identity(file="etcd", user="etcd", addresses=local),
        Identity(file="apiserver-etcd", user="kube-apiserver"),
        Identity(file="loopback", user="localhost", addresses=local),
        Identity(
            file="apiserver",
            user="kube-apiserver",
            addresses=(machine, service, *local, *apiserver_names),
        ),
        Identity(file="apiserver-kubelet", user="kube-apiserver-kubelet-client"),
        Identity(file="front-proxy", user="front-proxy-client"),
        Identity(file="admin", user="kubernetes-admin", group="system:masters"),
        Identity(file="controller-manager", user="system:kube-controller-manager"),
        Identity(file="scheduler", user="system:kube-scheduler"),
        Identity(file="proxy", user="system:kube-proxy"),
        Identity(file="coredns", user="system:coredns"),
        *(_kubelet(node) for node in nodes(settings)),
    ]


def _kubelet(node: Node) -> Identity:
    return Identity(
        file=node.own("kubelet"),
        user=f"system:node:{node.name}",
        group="system:nodes",
        addresses=(f"IP:{node.address}", f"DNS:{node.name}"),
    )


def ensure_certificates(settings: Settings) -> None:
    """Makes the certificates that are missing, and keeps the others. Raises CommandError."""
    directory = settings.certificates
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    if not (directory / "ca.crt").exists():
        issue_authority(directory)
    if not (directory / "service-accounts.key").exists():
        _generate_key_pair(directory, "service-accounts")
    for identity in identities(settings):
        if not (directory / f"{identity.file}.crt").exists():
            issue(directory, identity)


def issue_authority(directory: Path) -> None:
    """Makes `ca.crt` and `ca.key`. Raises CommandError."""
    extensions = [
        "basicConstraints=critical,CA:TRUE",
        "keyUsage=critical,keyCertSign,cRLSign,digitalSignature",
    ]
    _certify(directory, "ca", "/CN=partisan-localkube", extensions)


def issue(directory: Path, identity: Identity) -> None:
    """Makes a certificate of the directory's authority. Raises CommandError.

    The key comes first: a certificate that exists is complete.
    """
    subject = f"/O={identity.group}" if identity.group else ""
    usage = "clientAuth,serverAuth" if identity.addresses else "clientAuth"
    extensions = [
        "basicConstraints=critical,CA:FALSE",
        "keyUsage=critical,digitalSignature",
        f"extendedKeyUsage={usage}",
    ]
    if identity.addresses:
        extensions.append("subjectAltName=" + ",".join(identity.addresses))
    authority = ("-CA", str(directory / "ca.crt"), "-CAkey", str(directory / "ca.key"))
    _certify(directory, identity.file, f"{subject}/CN={identity.user}", extensions, *authority)


def _certify(
    directory: Path, name: str, subject: str, extensions: Sequence[str], *authority: str
) -> None:
    partial = directory / f"{name}.crt.partial"
    capture(
        [
            *("openssl", "req", "-x509", "-sha256", "-days", VALID_DAYS, "-nodes"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            # An empty configuration: the system's would add extensions of its own.
            *("-config", "/dev/null", "-keyout", str(directory / f"{name}.key"), *authority),
            *("-subj", subject, "-out", str(partial)),
            *(part for extension in extensions for part in ("-addext", extension)),
        ]
    )
    partial.rename(directory / f"{name}.crt")


def _generate_key_pair(directory: Path, name: str) -> None:
    key, public = directory / f"{name}.key", directory / f"{name}.pub"
    curve = ("-name", "prime256v1", "-noout")
    capture(["openssl", "ecparam", "-genkey", *curve, "-out", str(key)])
    key.chmod(0o600)
    capture(["openssl", "ec", "-in", str(key), "-pubout", "-out", str(public)])
