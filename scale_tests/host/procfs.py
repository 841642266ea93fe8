"""Figures of the kernel for a process of this machine, and for the machine."""

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")

ENDED = (FileNotFoundError, ProcessLookupError)
"""Errors of a process that has ended in between."""

_IDLE, _WAITING_FOR_DISKS = 3, 4
_STATE, _PARENT, _USER_TICKS, _SYSTEM_TICKS, _STARTED_TICKS = 0, 1, 11, 12, 19
_CHILDREN_USER_TICKS, _CHILDREN_SYSTEM_TICKS = 13, 14


def started(pid: int) -> int | None:
    """The start of a process, in ticks since boot; None if it has ended, reaped or not."""
    try:
        fields = _stat(pid)
    except ENDED:
        return None
    return None if fields[_STATE] in "ZX" else int(fields[_STARTED_TICKS])


def children(pid: int) -> list[int]:
    """The processes that a process has started and that have not been reaped."""
    return _processes(lambda own: int(_stat(own)[_PARENT]) == pid)


def named(program: str) -> list[int]:
    """The processes that run a program whose name begins so, as far as names are kept."""
    return _processes(lambda pid: (PROC / str(pid) / "comm").read_text().startswith(program))


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """Sends a signal to processes; nothing happens to those that have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def cpu_seconds(pid: int, kinds: tuple[int, int] = (_USER_TICKS, _SYSTEM_TICKS)) -> float:
    """The processor time of a process since its start. Raises as `memory`."""
    fields = _stat(pid)
    return sum(int(fields[kind]) for kind in kinds) / os.sysconf("SC_CLK_TCK")


def children_cpu_seconds(pid: int) -> float:
    """The processor time of a process's children that were waited for. Raises as `memory`."""
    return cpu_seconds(pid, (_CHILDREN_USER_TICKS, _CHILDREN_SYSTEM_TICKS))


def memory(pid: int) -> dict[str, int]:
    """`/proc/PID/smaps_rollup` in bytes, `Pss` among others. Needs root.

    Raises FileNotFoundError, ProcessLookupError: the process has ended.
    """
    lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]
    fields = (line.split() for line in lines)
    return {name.rstrip(":"): int(kibibytes) * 1024 for name, kibibytes, _unit in fields}


def environment(pid: int) -> dict[str, str]:
    """The variables that a process was started with. Raises as `memory`."""
    pairs = (PROC / str(pid) / "environ").read_bytes().decode(errors="replace").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def busy_share(seconds: float) -> float:
    """Waits so long, and returns the share of the processors' time that was not idle."""
    total, idle = _machine_ticks()
    time.sleep(seconds)
    later, idle_later = _machine_ticks()
    return 1 - (idle_later - idle) / max(1, later - total)


def memory_used() -> tuple[int, int]:
    """Bytes of the machine's memory that nothing could have, and bytes that are swapped out."""
    memory = _memory()
    swapped = memory["SwapTotal"] - memory["SwapFree"]
    return memory["MemTotal"] - memory["MemAvailable"], swapped


def memory_available() -> int:
    """Bytes of the machine's memory that can be had without swapping."""
    return _memory()["MemAvailable"]


def _processes(wanted: Callable[[int], bool]) -> list[int]:
    """The wanted processes of this machine, without those that end in between."""
    found = []
    for pid in [int(directory.name) for directory in PROC.glob("[0-9]*")]:
        with suppress(*ENDED):
            found += [pid] if wanted(pid) else []
    return found


def _memory() -> dict[str, int]:
    """The fields of `/proc/meminfo`, in bytes."""
    lines = (PROC / "meminfo").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}


def _machine_ticks() -> tuple[int, int]:
    """The time of all processors since boot, and the part of it in which they were idle."""
    ticks = [int(field) for field in (PROC / "stat").read_text().split()[1:9]]
    return sum(ticks), ticks[_IDLE] + ticks[_WAITING_FOR_DISKS]


def _stat(pid: int) -> list[str]:
    """`/proc/PID/stat` from the third field on; the second may hold spaces and parentheses."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
