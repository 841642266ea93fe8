"""The processes of nodes in pods of this very machine."""

from __future__ import annotations

from scale_tests import procfs


def processes(namespace: str) -> dict[str, int]:
    """The Erlang machine of each pod of a namespace, by its name: its process. Needs to be root."""
    found: dict[str, int] = {}
    for entry in procfs.PROC.iterdir():
        if entry.name.isdigit():
            pid = int(entry.name)
            try:
                if (entry / "comm").read_text().strip() != "beam.smp":
                    continue
                environment = procfs.environment(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue  # It has ended meanwhile.
            if environment.get("POD_NAMESPACE") == namespace:
                found[environment["POD_NAME"]] = pid
    return found
