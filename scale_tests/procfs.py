"""What the kernel says of a process of this machine."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")

_STATE, _USER_TICKS, _SYSTEM_TICKS, _STARTED_TICKS = 0, 11, 12, 19


def started(pid: int) -> int | None:
    """When a process started, in ticks since boot; None if it has ended, reaped or not."""
    try:
        fields = _stat(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[_STATE] in "ZX" else int(fields[_STARTED_TICKS])


def cpu_seconds(pid: int) -> float:
    """The processor time of a process, all its threads', since its start.

    Raises:
        FileNotFoundError, ProcessLookupError: it has ended.
    """
    fields = _stat(pid)
    ticks = int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` from the third on, the process's state.

    The second, the program's name in parentheses, may hold spaces and parentheses.
    """
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
