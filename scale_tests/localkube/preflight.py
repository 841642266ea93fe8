"""Is this machine fit to run the cluster? Says everything that is missing at once."""

import os
import shutil
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.components import Component
from scale_tests.localkube.configs import CNI_PLUGINS

IP_FREEBIND = 15
"""Linux's socket option to bind to an address that the machine does not have (yet)."""

PACKAGES = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables-save": "iptables",
    "ip": "iproute2",
    "mkswap": "util-linux",
    "mount": "mount",
    "nsenter": "util-linux",
    "openssl": "openssl",
    "swapon": "mount",
    "unshare": "util-linux",
}
"""The programs that have to be on the machine, with the Debian package of each."""


def check_machine() -> None:
    """Checks the system, the user and the programs. Raises ExpectedError."""
    if sys.platform != "linux":
        raise ExpectedError(
            f"the local cluster needs Linux, this is {sys.platform}; "
            "set KUBECONFIG and REGISTRY to use a cluster of your own"
        )
    check_user()
    if missing := missing_packages():
        raise ExpectedError(
            f"missing: {', '.join(missing)}; on Debian: apt-get install {' '.join(missing)}"
        )


def check_user() -> None:
    """Checks that root runs this. Raises ExpectedError."""
    if os.geteuid() != 0:
        raise ExpectedError("the local cluster runs containers and needs root: run it with sudo")


def missing_packages() -> list[str]:
    """The Debian packages of programs that are missing on this machine."""
    missing = {package for program, package in PACKAGES.items() if shutil.which(program) is None}
    if not (CNI_PLUGINS / "ptp").exists():
        missing.add("containernetworking-plugins")
    return sorted(missing)


def check_ports(components: Iterable[Component]) -> None:
    """Checks that nothing listens where these components are about to. Raises ExpectedError."""
    taken = [
        f"{address}:{port} ({component.name})"
        for component in components
        for address, port in component.tcp
        if _taken(address, port)
    ]
    if taken:
        raise ExpectedError(
            f"in use by another program: {', '.join(taken)}; `ss -tlnp` shows which: stop it"
        )


def boot_id() -> str:
    """The identifier of this boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _taken(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        try:
            probe.bind((address, port))
            probe.listen()
        except OSError:
            return True
    return False
