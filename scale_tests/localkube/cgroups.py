"""The control groups of the cluster, by which `down` finds every process of it.

Further nodes have groups below the cluster's. Version 2, version 1 and hybrid layouts work.
"""

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host import procfs
from scale_tests.localkube import waiting

COMPONENTS = "components"
"""The group of a node's components, below the node's, next to the kubelet's one for pods.
(Version 2 allows no processes in a group that has others below it.)"""


@dataclass(frozen=True)
class Hierarchy:
    """One mounted control group hierarchy."""

    mount: Path
    version: int
    options: frozenset[str]
    """Of version 1: the controllers, among flags such as `rw`."""


def parse_hierarchies(mountinfo: str) -> list[Hierarchy]:
    """The hierarchies that the text of /proc/self/mountinfo lists."""
    versions = {"cgroup": 1, "cgroup2": 2}
    found = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _source, options = right.split(" ", 2)
        if kind in versions:
            mount = Path(left.split(" ")[4])
            found.append(Hierarchy(mount, versions[kind], frozenset(options.split(","))))
    return found


def hierarchies() -> list[Hierarchy]:
    """The hierarchies of this machine."""
    return parse_hierarchies(Path("/proc/self/mountinfo").read_text())


def create(groups: Iterable[str]) -> None:
    """Makes nodes' groups in every hierarchy, outer ones first; a kubelet insists on its own."""
    for group in groups:
        for hierarchy in hierarchies():
            directory = hierarchy.mount / group
            (directory / COMPONENTS).mkdir(parents=True, exist_ok=True)
            if hierarchy.version == 2:
                available = (directory / "cgroup.controllers").read_text().split()
                enabled = " ".join(f"+{controller}" for controller in available)
                (directory / "cgroup.subtree_control").write_text(enabled)


def component_files(group: str) -> list[Path]:
    """The files that move the process which writes `0` into a node's group of components.

    Without cpuset's, which accepts none before its processors are assigned.
    """
    return [
        hierarchy.mount / group / COMPONENTS / "cgroup.procs"
        for hierarchy in hierarchies()
        if "cpuset" not in hierarchy.options
    ]


def members(group: str) -> set[int]:
    """Every process of a node, or of the cluster: components, container shims, pods."""
    found: set[int] = set()
    for hierarchy in hierarchies():
        for directory, _subdirectories, _files in os.walk(hierarchy.mount / group):
            try:
                found.update(map(int, Path(directory, "cgroup.procs").read_text().split()))
            except FileNotFoundError:
                continue  # the group was removed since it was listed
    return found


def kill_all(group: str, *, first: Iterable[int] = ()) -> None:
    """Kills every process of a node or the cluster, `first` those that would restart others.

    Raises waiting.TimedOutError, which names the processes that do not end.
    """
    procfs.send(signal.SIGKILL, first)

    def remaining() -> str:
        pids = members(group)
        procfs.send(signal.SIGKILL, pids)
        return f"processes {sorted(pids)} still run" if pids else ""

    waiting.until_none(remaining, seconds=300)


def freeze(group: str) -> None:
    """Stops every process of a node, and those that they start in between."""
    stopped: set[int] = set()
    while running := members(group) - stopped:
        procfs.send(signal.SIGSTOP, running)
        stopped |= running


def thaw(group: str) -> None:
    """Resumes every process of a node; running ones are not affected."""
    procfs.send(signal.SIGCONT, members(group))


def remove(group: str) -> None:
    """Removes an empty group from every hierarchy. Raises waiting.TimedOutError, which names it."""

    def remaining() -> str:
        for hierarchy in hierarchies():
            tree = os.walk(hierarchy.mount / group, topdown=False)
            for directory, _subdirectories, _files in tree:
                try:
                    Path(directory).rmdir()
                except FileNotFoundError:
                    continue
                except OSError as error:  # a process in it has ended but is not reaped yet
                    return f"{directory}: {error.strerror}"
        return ""

    waiting.until_none(remaining, seconds=100)
