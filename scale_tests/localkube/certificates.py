"""The cluster's certificate authority and its certificates, made with openssl.

Every endpoint asks for a client certificate; Kubernetes authorises by names and groups in subjects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host.commands import capture
from scale_tests.host.templates import filled
from scale_tests.localkube.configs import of_nodes
from scale_tests.localkube.settings import CLUSTER_DOMAIN as DOMAIN
from scale_tests.localkube.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The subject of a certificate."""

    file: str
    """The name of the certificate and key files, without their endings."""

    user: str
    """The common name: the Kubernetes user."""

    group: str = ""
    """The organisation: the Kubernetes group."""

    addresses: Sequence[str] = ()
    """Subject alternative names in openssl's notation; those of servers only."""


def identities(settings: Settings) -> list[Identity]:
    """Every certificate that the cluster needs."""
    return [
        Identity(file=node.own(file), **filled(entry, settings=settings, node=node, domain=DOMAIN))
        for file, entry, node in of_nodes("identities.toml", settings)
    ]


def ensure_certificates(settings: Settings) -> None:
    """Makes the certificates that are missing, and keeps the others. Raises CommandError."""
    directory = settings.certificates
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    if not (directory / "ca.crt").exists():
        issue_authority(directory)
    if not (directory / "service-accounts.key").exists():
        key, public = (directory / f"service-accounts.{end}" for end in ("key", "pub"))
        curve = ("-name", "prime256v1", "-noout")
        capture(["openssl", "ecparam", "-genkey", *curve, "-out", str(key)])
        key.chmod(0o600)
        capture(["openssl", "ec", "-in", str(key), "-pubout", "-out", str(public)])
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
            *("openssl", "req", "-x509", "-sha256", "-days", "3650", "-nodes"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            # An empty configuration: the system's would add extensions of its own.
            *("-config", "/dev/null", "-keyout", str(directory / f"{name}.key"), *authority),
            *("-subj", subject, "-out", str(partial)),
            *(part for extension in extensions for part in ("-addext", extension)),
        ]
    )
    partial.rename(directory / f"{name}.crt")
