"""Memory of an idle node, by its parts: `build/results/footprint.json`.

As proportional set size (PSS): the nodes share the pages of the emulator's program.
"""

import os
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scale_tests.cluster.fleet import Plan, build_release, end, fleet
from scale_tests.cluster.views import components
from scale_tests.host.units import MIB
from scale_tests.measure.emulator import STOCK, Flags, release
from scale_tests.measure.spread import Cell

ONE_SCHEDULER = "+S 1:1"
"""The arguments with which the operator starts a node that requests less than two CPUs."""

SETTLE_SECONDS = 5.0
"""Processes that have nothing to do give their memory back within a second; and some to spare."""


@dataclass(frozen=True, kw_only=True)
class Weight:
    """A process, in bytes. `parts` is the PSS by the kind of pages."""

    pss: int
    private: int
    parts: dict[str, int]


def measure(nodes: int, say: Callable[[str], None]) -> list[Cell]:
    """Bare emulators with growing sets of the release's settings, then nodes of the release.

    Raises CommandError: no release; ExpectedError: a node ended; StalledError: no cluster formed.
    """
    tuned = release()
    ladder = (
        ("bare emulator, stock", STOCK),
        ("bare emulator, the release's flags", Flags(name="flags", arguments=tuned.arguments)),
        ("bare emulator, the release's flags and malloc settings", tuned),
    )
    cells = []
    for what, flags in ladder:
        with bare(nodes, flags) as processes:
            time.sleep(SETTLE_SECONDS)
            cells.append(_cell(what, [weigh(process.pid) for process in processes], None))
        say(_told(cells[-1]))
    cells.append(_nodes(nodes))
    say(_told(cells[-1]))
    return cells


@contextmanager
def bare(count: int, flags: Flags) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Emulators that run nothing but themselves; ended when the block is left."""
    argv = ["erl", "-noshell", "-noinput", *ONE_SCHEDULER.split(), *flags.arguments]
    variables = {**os.environ, **dict(flags.environment)}
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            processes.append(subprocess.Popen(argv, env=variables, stdin=subprocess.DEVNULL))
        yield processes
    finally:
        end(processes)


def weigh(pid: int) -> Weight:
    """The memory of a process, from the kernel. Needs to be root, or its owner."""
    return parse((Path("/proc") / str(pid) / "smaps").read_text())


def parse(smaps: str) -> Weight:
    """The weight that the text of a `/proc/PID/smaps` amounts to."""
    parts: dict[str, int] = defaultdict(int)
    private, part = 0, ""
    for line in smaps.splitlines():
        if header := re.match(r"[0-9a-f]+-[0-9a-f]+ (\S+) \S+ \S+ \S+\s*(.*)$", line):
            part = _part(permissions=header[1], name=header[2])
        else:
            key, _, value = line.partition(":")
            if key == "Pss":
                parts[part] += int(value.split()[0]) * 1024
            elif key in ("Private_Clean", "Private_Dirty"):
                private += int(value.split()[0]) * 1024
    return Weight(pss=sum(parts.values()), private=private, parts=dict(parts))


def _part(*, permissions: str, name: str) -> str:
    executable = "x" in permissions
    if "vmem" in name or (executable and not name):
        return "compiled code of Erlang modules"
    if name.startswith("/"):
        return "the emulator's program and libraries" if executable else "their data"
    if name == "[heap]" or not name or name.startswith("[anon"):
        return "heap: processes, tables, modules, blocks of malloc"
    return "stacks and the rest"


def _nodes(nodes: int) -> Cell:
    wanted = Plan(nodes=nodes, emulator_flags=ONE_SCHEDULER)
    with fleet(wanted, build_release()) as started:
        for index in range(nodes):
            started.start(index)
        started.await_views(lambda v: len(v) == nodes and len(components(v)) == 1)
        cpu_seconds = started.cpu_seconds() / nodes
        time.sleep(SETTLE_SECONDS)
        weights = [weigh(process.pid) for process in started.processes.values()]
        [otp] = started.otp()
        return {**_cell("node, idle and joined", weights, cpu_seconds), "otp": otp}


def _cell(what: str, weights: Sequence[Weight], cpu_seconds: float | None) -> Cell:
    parts = {part for weight in weights for part in weight.parts}
    return {
        "what": what,
        "processes": len(weights),
        "pss_mib": median(weight.pss for weight in weights) / MIB,
        "private_mib": median(weight.private for weight in weights) / MIB,
        "parts_mib": {
            part: median(weight.parts.get(part, 0) for weight in weights) / MIB
            for part in sorted(parts)
        },
        "cpu_seconds_to_joined": cpu_seconds,
    }


def _told(cell: Cell) -> str:
    return (
        f"{cell['processes']} x {cell['what']}: PSS {cell['pss_mib']:.1f} MiB, "
        f"private {cell['private_mib']:.1f} MiB"
    )
