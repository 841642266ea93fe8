"""The memory of the Erlang nodes in pods, from the kernel; for a cluster on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from scale_tests.cluster.local_nodes import processes
from scale_tests.host import procfs


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """One node's process: memory in bytes, processor time in seconds since its start.

    `pss` is the proportional set size; `private` is what would be freed if the process ended.
    """

    pod: str
    pss: int
    private: int
    cpu_seconds: float


def footprints(namespace: str) -> list[Footprint]:
    """The Erlang machines of all pods of a namespace. Needs to be root."""
    found = (_footprint(pod, pid) for pod, pid in sorted(processes(namespace).items()))
    return [footprint for footprint in found if footprint is not None]


def _footprint(pod: str, pid: int) -> Footprint | None:
    try:
        memory = procfs.memory(pid)
        cpu_seconds = procfs.cpu_seconds(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None  # It has ended in between.
    return Footprint(
        pod=pod,
        pss=memory["Pss"],
        private=memory["Private_Clean"] + memory["Private_Dirty"],
        cpu_seconds=cpu_seconds,
    )
