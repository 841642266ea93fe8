"""What the kernel says of the Erlang machines in pods; for a cluster on this very machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scale_tests import procfs


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """One node's process: memory in bytes, processor time in seconds since its start.

    `pss` counts a page that several processes share as a share of each; `private` counts only
    what would be freed if the process ended.
    """

    pod: str
    pss: int
    private: int
    cpu_seconds: float


def footprints(namespace: str) -> list[Footprint]:
    """The Erlang machines of all pods of a namespace. Needs to be root."""
    found = (
        _footprint(entry, namespace) for entry in procfs.PROC.iterdir() if entry.name.isdigit()
    )
    return sorted((f for f in found if f is not None), key=lambda f: f.pod)


def _footprint(process: Path, namespace: str) -> Footprint | None:
    try:
        if (process / "comm").read_text().strip() != "beam.smp":
            return None
        pairs = (process / "environ").read_bytes().split(b"\0")
        environment = dict(pair.split(b"=", 1) for pair in pairs if b"=" in pair)
        if environment.get(b"POD_NAMESPACE", b"").decode() != namespace:
            return None
        memory = procfs.memory(int(process.name))
        cpu_seconds = procfs.cpu_seconds(int(process.name))
    except (FileNotFoundError, ProcessLookupError):
        return None  # It has ended meanwhile.
    return Footprint(
        pod=environment[b"POD_NAME"].decode(),
        pss=memory["Pss"],
        private=memory["Private_Clean"] + memory["Private_Dirty"],
        cpu_seconds=cpu_seconds,
    )
