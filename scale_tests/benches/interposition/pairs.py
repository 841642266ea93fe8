"""Pairs of measurements: the earlier revision and this checkout, one right after the other.

Each is measured by the application `bench` of its own revision, in virtual machines that are
started anew for every pair; the order within a pair alternates.
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

INTERPOSITION = "erlang_node/apps/partisan/src/fault/partisan_interposition.erl"
REPETITIONS = 3
"""Measurements of each kind in one virtual machine; the least disturbed counts."""

_DIRECTORY = ROOT / "build" / "interposition"
_ADDRESSES = ("127.0.7.1", "127.0.7.2")
_LANES = 16

_DISPATCH = f"experiment => dispatch, connections => {_LANES}, destinations => {_LANES}"
_THROUGHPUT = (
    "experiment => throughput, channel => lanes_1, payload => 1024, pairs => 16, "
    "affinity => true, milliseconds => 1000"
)


@dataclass(frozen=True, kw_only=True)
class System:
    """A built revision: `base`, or `present` for the checkout."""

    name: str
    commit: str
    build: Path


def before_interposition() -> str:
    """The revision before the module was added. Raises CommandError without history."""
    found = capture(["git", "log", "--diff-filter=A", "--format=%H", "--", INTERPOSITION])
    if not found.strip():
        argv = ["git", "log", "--", INTERPOSITION]
        raise CommandError(argv, 1, "no commit added it: git fetch --unshallow, or give --base")
    return f"{found.split()[-1]}^"


def measure(base: str, count: int, say: Callable[[str], None]) -> list[Cell]:
    """The cells of so many pairs. Raises CommandError."""
    systems = _systems(base)
    cells = []
    for pair in range(1, count + 1):
        for system in systems if pair % 2 else reversed(systems):
            own = [cell | {"pair": pair} for cell in _run(system)]
            say(f"pair {pair}, {system.name} ({system.commit}): {_figures(own)}")
            cells += own
    return cells


def plan(system: str) -> str:
    """The plan of one run as the Erlang side reads it: one term."""
    kinds = [f"{_DISPATCH}, rules => 0", _THROUGHPUT]
    if system == "present":
        kinds.append(f"{_DISPATCH}, rules => 1")
    hosts = ", ".join(f"#{{ip => {{{ip.replace('.', ',')}}}, command => []}}" for ip in _ADDRESSES)
    cells = ",\n    ".join(
        f"#{{system => {system}, {kind}, repetition => {number}}}"
        for number in range(1, REPETITIONS + 1)
        for kind in kinds
    )
    return f"""\
#{{hosts => [{hosts}],
  systems => #{{{system} => #{{module => bench_ours, arguments => [], environment => []}}}},
  cells => [
    {cells}]}}.
"""


def _systems(base: str) -> Sequence[System]:
    otp.compile_runtime()
    build = emulator.build()
    runtime = revision.unpack(base, _DIRECTORY) / otp.RUNTIME.relative_to(ROOT)
    own = runtime / "_build" / build.name
    capture(["env", "-C", str(runtime), f"REBAR_BASE_DIR={own}", "rebar3", "compile"])
    described = capture(["git", "describe", "--always", "--abbrev=12", "--dirty"]).strip()
    return (
        System(name="base", commit=base, build=own),
        System(name="present", commit=described, build=build),
    )


def _run(system: System) -> Iterator[Cell]:
    for line in emulator.lines("bench_driver", plan(system.name), compiled=system.build):
        cell = json.loads(line)
        yield cell | {"system": system.name, "commit": system.commit, "metric": metric(cell)}


def metric(cell: Cell) -> str:
    """Which of the three figures a cell has."""
    if cell["experiment"] == "throughput":
        return "throughput"
    return "dispatch with one rule" if cell["rules"] else "dispatch"


def _figures(cells: Sequence[Cell]) -> str:
    sends = min(cell["ns_per_send"] for cell in cells if cell["metric"] == "dispatch")
    messages = max(cell["msgs_per_s"] for cell in cells if cell["metric"] == "throughput")
    return f"{sends:.0f} ns a send, {messages:,.0f} messages/s"
