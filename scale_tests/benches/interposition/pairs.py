"""Pairs of measurements: an earlier revision and this checkout, in turns within seconds.

Both are measured by the application `bench` of this checkout, in virtual machines that are started
anew for every pair; the order within a pair alternates.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from scale_tests import otp
from scale_tests.host import revision
from scale_tests.host.commands import ROOT, CommandError, capture
from scale_tests.host.wire import Host, Wire
from scale_tests.measure import emulator, systems
from scale_tests.measure.spread import Cell
from scale_tests.measure.systems import Job, Settings, System

FAULTS = "erlang_node/apps/partisan/src/fault/partisan_fault.erl"
"""The language of faults, which came before their injection."""

REPETITIONS = 12
"""Short measurements of each kind in a pair."""

LOOPBACK = Wire(
    rtt_ms=0,
    congestion="kernel's own",
    hosts=tuple(Host(ip=f"127.0.7.{number}", command=()) for number in (1, 2)),
)
_DIRECTORY = ROOT / "build" / "interposition"

_DISPATCH: Settings = {"experiment": "dispatch", "connections": 16, "destinations": 16}
_THROUGHPUT: Settings = {
    **{"experiment": "throughput", "channel": "lanes_1", "payload": 1024, "pairs": 16},
    **{"affinity": True, "milliseconds": 150},
}


def before_interposition() -> str:
    """The revision before the first part was added. Raises CommandError without history."""
    found = capture(["git", "log", "--diff-filter=A", "--format=%H", "--", FAULTS])
    if not found.strip():
        argv = ["git", "log", "--", FAULTS]
        raise CommandError(argv, 1, "no commit added it: git fetch --unshallow, or give --base")
    return f"{found.split()[-1]}^"


def measure(base: str, count: int, say: Callable[[str], None]) -> list[Cell]:
    """The cells of so many pairs. Raises CommandError."""
    both, commits = _systems(base)
    cells = []
    for pair in range(1, count + 1):
        found = systems.run(LOOPBACK, jobs(both if pair % 2 else both[::-1]))
        own = [
            cell | {"commit": commits[cell["system"]], "metric": metric(cell), "pair": pair}
            for cell in found
        ]
        say(f"pair {pair}: {_figures(own)}")
        cells += own
    return cells


def jobs(both: Sequence[System]) -> list[Job]:
    """The measurements of a pair. The base has no rules to set."""
    kinds = [(s, kind) for kind in (_DISPATCH | {"rules": 0}, _THROUGHPUT) for s in both]
    kinds += [(s, _DISPATCH | {"rules": 1}) for s in both if s.name == "present"]
    return [
        Job(system=system, settings=kind, repetition=number)
        for number in range(1, REPETITIONS + 1)
        for system, kind in kinds
    ]


def metric(cell: Cell) -> str:
    """The figure of a cell."""
    if cell["experiment"] == "throughput":
        return "throughput"
    return "dispatch with one rule" if cell["rules"] else "dispatch"


def system(name: str, paths: Sequence[str]) -> System:
    """A built revision: `base`, or `present` for the checkout."""
    return System(name=name, module="bench_ours", flags=emulator.STOCK, paths=tuple(paths))


def _systems(base: str) -> tuple[tuple[System, System], dict[str, str]]:
    """Both revisions, and their commits."""
    otp.compile_runtime()
    build = emulator.build()
    runtime = revision.unpack(base, _DIRECTORY) / otp.RUNTIME.relative_to(ROOT)
    base_build = runtime / "_build" / build.name
    capture(["env", "-C", str(runtime), f"REBAR_BASE_DIR={base_build}", "rebar3", "compile"])
    described = capture(["git", "describe", "--always", "--abbrev=12", "--dirty"]).strip()
    present = _paths(build)
    bench = [path for path in present if path.endswith("/bench/ebin")]
    others = [path for path in _paths(base_build) if not path.endswith("/bench/ebin")]
    both = (system("base", [*others, *bench]), system("present", present))
    return both, {"base": base, "present": described}


def _paths(build: Path) -> tuple[str, ...]:
    return tuple(sorted(str(path) for path in build.glob("default/lib/*/ebin")))


def _figures(cells: Sequence[Cell]) -> str:
    return ", ".join(
        f"{cell['system']} {cell['ns_at_least']:.0f} ns a send"
        if cell["experiment"] == "dispatch"
        else f"{cell['system']} {cell['msgs_per_s']:,.0f} messages/s"
        for cell in cells
        if cell["repetition"] == 1
    )
