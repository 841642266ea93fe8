"""Leftovers of the cluster on the machine outside its own directories, and their removal."""

import ctypes
import os
import re
import shutil
from pathlib import Path

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.configs import CNI_NETWORK
from scale_tests.localkube.nodes import Node, possible
from scale_tests.localkube.settings import Settings

MNT_DETACH = 2

CNI_RESULTS = Path("/var/lib/cni/results")
"""The directory in which containerd's CNI library caches answers of plugins; it is fixed."""

SHIM_SOCKETS = Path("/run/containerd/s")
"""The directory of the sockets of every containerd's shims; it is fixed."""

CONTAINER_LOGS = Path("/var/log/containers")
"""The directory of the kubelet's links to the logs of containers; it is fixed."""

DEVICE_PLUGINS = Path("/var/lib/kubelet/device-plugins")
"""The directory in which the kubelet listens for device plugins; it is fixed."""


def mount_points(mountinfo: str, below: tuple[Path, ...]) -> list[str]:
    """The mount points below some directories, the latest first.

    `mountinfo` is the text of /proc/self/mountinfo, which writes blanks as octal numbers.
    """
    prefixes = tuple(f"{directory}/" for directory in below)
    points = [
        re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), line.split(" ")[4])
        for line in mountinfo.splitlines()
    ]
    return [point for point in reversed(points) if point.startswith(prefixes)]


def unmount_all(*directories: Path) -> None:
    """Unmounts file systems, volumes and network namespaces below. Raises ExpectedError."""
    libc = ctypes.CDLL(None, use_errno=True)
    mountinfo = Path("/proc/self/mountinfo").read_text()
    for point in mount_points(mountinfo, directories):
        # Detached: a user's program that has one open does not hold up the rest.
        if libc.umount2(os.fsencode(point), MNT_DETACH) != 0:
            raise ExpectedError(f"cannot unmount {point}: {os.strerror(ctypes.get_errno())}")


def remove_files(settings: Settings) -> None:
    """Removes the cluster's directories, and what the runtimes wrote outside of them."""
    for node in possible(settings):
        _remove_shim_sockets(node)
    for result in CNI_RESULTS.glob(f"{CNI_NETWORK}-*"):
        container = result.name.removeprefix(f"{CNI_NETWORK}-").rpartition("-")[0]
        (CNI_RESULTS / f"cni-loopback-{container}-lo").unlink(missing_ok=True)
        result.unlink()
    for link in CONTAINER_LOGS.glob("*.log"):
        if link.is_symlink() and str(link.readlink()).startswith(f"{settings.logs}/"):
            link.unlink()
    for name in ("kubelet.sock", "kubelet_internal_checkpoint"):
        (DEVICE_PLUGINS / name).unlink(missing_ok=True)
    shared = (SHIM_SOCKETS, CNI_RESULTS, DEVICE_PLUGINS)
    for directory in (*shared, *(each.parent for each in shared), CONTAINER_LOGS):
        if directory.is_dir() and not any(directory.iterdir()):
            directory.rmdir()
    _remove_trees(settings.run, settings.state)


def remove_node_files(settings: Settings, node: Node) -> None:
    """Removes a further node's directories, sockets and pods' logs, but nothing nodes share."""
    _remove_shim_sockets(node)
    _remove_trees(node.run, node.state, settings.logs / node.own("pods"))


def _remove_shim_sockets(node: Node) -> None:
    for address in (node.run / "containerd").glob("*/*/*/address"):
        socket = Path(address.read_text().removeprefix("unix://"))
        if socket.parent == SHIM_SOCKETS:
            socket.unlink(missing_ok=True)


def _remove_trees(*directories: Path) -> None:
    for directory in directories:
        if directory.exists():
            shutil.rmtree(directory)
