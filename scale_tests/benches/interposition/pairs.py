"""Pairs of measurements: an earlier revision and this checkout, in turns within seconds.

Both are measured by the application `bench` of this checkout, in virtual machines that are started
anew for every pair; the order within a pair alternates.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scale_tests import otp
from scale_tests.host import revision
from scale_tests.host.commands import ROOT, CommandError, capture
from scale_tests.measure import emulator

Cell = dict[str, Any]

FAULTS = "erlang_node/apps/partisan/src/fault/partisan_fault.erl"
"""The language of faults, which came before their injection."""

REPETITIONS = 12
"""Short measurements of each kind in a pair; the least disturbed counts."""

_DIRECTORY = ROOT / "build" / "interposition"
_ADDRESSES = ("127.0.7.1", "127.0.7.2")

_DISPATCH = "experiment => dispatch, connections => 16, destinations => 16"
_THROUGHPUT = (
    "experiment => throughput, channel => lanes_1, payload => 1024, pairs => 16, "
    "affinity => true, milliseconds => 150"
)


@dataclass(frozen=True, kw_only=True)
class System:
    """A built revision: `base`, or `present` for the checkout."""

    name: str
    commit: str
    paths: tuple[str, ...]


def before_interposition() -> str:
    """The revision before the first part was added. Raises CommandError without history."""
    found = capture(["git", "log", "--diff-filter=A", "--format=%H", "--", FAULTS])
    if not found.strip():
        argv = ["git", "log", "--", FAULTS]
        raise CommandError(argv, 1, "no commit added it: git fetch --unshallow, or give --base")
    return f"{found.split()[-1]}^"


def measure(base: str, count: int, say: Callable[[str], None]) -> list[Cell]:
    """The cells of so many pairs. Raises CommandError."""
    systems = _systems(base)
    cells = []
    for pair in range(1, count + 1):
        own = [cell | {"pair": pair} for cell in _run(systems if pair % 2 else systems[::-1])]
        say(f"pair {pair}: {_figures(own)}")
        cells += own
    return cells


def plan(systems: Sequence[System]) -> str:
    """The plan of a pair as the Erlang side reads it: one term. The base has no rules to set."""
    hosts = ", ".join(f"#{{ip => {{{ip.replace('.', ',')}}}, command => []}}" for ip in _ADDRESSES)
    described = ",\n    ".join(
        f"{system.name} => #{{module => bench_ours, arguments => [], environment => [], "
        f"paths => {emulator.term(system.paths)}}}"
        for system in systems
    )
    kinds = [
        (system.name, kind)
        for kind in (f"{_DISPATCH}, rules => 0", _THROUGHPUT)
        for system in systems
    ]
    kinds.append(("present", f"{_DISPATCH}, rules => 1"))
    cells = ",\n    ".join(
        f"#{{system => {name}, {kind}, repetition => {number}}}"
        for number in range(1, REPETITIONS + 1)
        for name, kind in kinds
    )
    return f"""\
#{{hosts => [{hosts}],
  systems => #{{
    {described}}},
  cells => [
    {cells}]}}.
"""


def metric(cell: Cell) -> str:
    """The figure of a cell."""
    if cell["experiment"] == "throughput":
        return "throughput"
    return "dispatch with one rule" if cell["rules"] else "dispatch"


def _systems(base: str) -> tuple[System, System]:
    otp.compile_runtime()
    build = emulator.build()
    runtime = revision.unpack(base, _DIRECTORY) / otp.RUNTIME.relative_to(ROOT)
    base_build = runtime / "_build" / build.name
    capture(["env", "-C", str(runtime), f"REBAR_BASE_DIR={base_build}", "rebar3", "compile"])
    described = capture(["git", "describe", "--always", "--abbrev=12", "--dirty"]).strip()
    present = _paths(build)
    bench = [path for path in present if path.endswith("/bench/ebin")]
    others = [path for path in _paths(base_build) if not path.endswith("/bench/ebin")]
    return (
        System(name="base", commit=base, paths=(*others, *bench)),
        System(name="present", commit=described, paths=present),
    )


def _paths(build: Path) -> tuple[str, ...]:
    return tuple(sorted(str(path) for path in build.glob("default/lib/*/ebin")))


def _run(systems: Sequence[System]) -> Iterator[Cell]:
    commits = {system.name: system.commit for system in systems}
    for line in emulator.lines("bench_driver", plan(systems)):
        cell = json.loads(line)
        yield cell | {"commit": commits[cell["system"]], "metric": metric(cell)}


def _figures(cells: Sequence[Cell]) -> str:
    return ", ".join(
        f"{cell['system']} {cell['ns_at_least']:.0f} ns a send"
        if cell["experiment"] == "dispatch"
        else f"{cell['system']} {cell['msgs_per_s']:,.0f} messages/s"
        for cell in cells
        if cell["repetition"] == 1
    )
