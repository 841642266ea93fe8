"""The control group that holds the whole cluster, so that `down` finds every process of it.

Both layouts work: version 2 alone, and version 1 with any set of hierarchies, with or without a
version 2 tree beside them ("hybrid").
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scale_tests.localkube import waiting
from scale_tests.localkube.settings import CGROUP

COMPONENTS = "components"
"""The group of the components, below the cluster's, beside the one the kubelet makes for pods.
(Version 2 allows no processes in a group that has others below it.)"""


@dataclass(frozen=True)
class Hierarchy:
    """One mounted control group hierarchy."""

    mount: Path
    version: int
    options: frozenset[str]
    """Of version 1: the controllers, among flags such as `rw`."""

    @property
    def group(self) -> Path:
        """The directory of the cluster's group."""
        return self.mount / CGROUP


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


def create() -> None:
    """Makes the cluster's group in every hierarchy; the kubelet insists that it is there."""
    for hierarchy in hierarchies():
        (hierarchy.group / COMPONENTS).mkdir(parents=True, exist_ok=True)
        if hierarchy.version == 2:
            available = (hierarchy.group / "cgroup.controllers").read_text().split()
            enabled = " ".join(f"+{controller}" for controller in available)
            (hierarchy.group / "cgroup.subtree_control").write_text(enabled)


def component_files() -> list[Path]:
    """The files that take the process which writes `0` into the components' group.

    All hierarchies but cpuset's, which takes none before its processors are assigned.
    """
    return [
        hierarchy.group / COMPONENTS / "cgroup.procs"
        for hierarchy in hierarchies()
        if "cpuset" not in hierarchy.options
    ]


def members() -> set[int]:
    """Every process of the cluster: components, container shims, pods."""
    found: set[int] = set()
    for hierarchy in hierarchies():
        for directory, _subdirectories, _files in os.walk(hierarchy.group):
            try:
                found.update(map(int, Path(directory, "cgroup.procs").read_text().split()))
            except FileNotFoundError:
                continue  # the group was removed since it was listed
    return found


def kill_all(first: Iterable[int]) -> None:
    """Kills every process of the cluster: `first` those that would restart the others.

    Raises:
        waiting.TimedOutError: some process does not end; the message names it.
    """
    _kill(first)

    def remaining() -> str:
        pids = members()
        _kill(pids)
        return f"processes {sorted(pids)} still run" if pids else ""

    waiting.until_none(remaining, seconds=60)


def remove() -> None:
    """Removes the cluster's group from every hierarchy, once no process is left in it.

    Raises:
        waiting.TimedOutError: the kernel still holds a group; the message names it.
    """

    def remaining() -> str:
        for hierarchy in hierarchies():
            for directory, _subdirectories, _files in os.walk(hierarchy.group, topdown=False):
                try:
                    Path(directory).rmdir()
                except FileNotFoundError:
                    continue
                except OSError as error:  # a process in it has ended but is not reaped yet
                    return f"{directory}: {error.strerror}"
        return ""

    waiting.until_none(remaining, seconds=20)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
