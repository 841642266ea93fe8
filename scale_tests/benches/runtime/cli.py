"""`python -m scale_tests runtime [PART ...]`: the runtime beside its rivals; its weight.

The parts are `throughput`, `ping`, `dispatch`, `replies` and `footprint`; all of them by default.
Prints tables, writes build/results/bench-runtime.json and footprint.json, a page and pictures; ends
with 1 when a target is missed. One that is missed by less than 0.05 is measured again, with more
repetitions; both are kept, and the second counts. `QUICK=1` takes fewer points and says so in the
result.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from scale_tests import otp
from scale_tests.benches.runtime import driver, footprint, memory, page, pictures, report
from scale_tests.benches.runtime import plan as plans
from scale_tests.benches.runtime.wire import Wire, WireError, congestion_controls, wire
from scale_tests.cluster.fleet import FleetError
from scale_tests.cluster.wait import StalledError
from scale_tests.host import procfs
from scale_tests.host.commands import CommandError, relative
from scale_tests.measure import terminal, versions
from scale_tests.measure.bars import Bar
from scale_tests.measure.document import RESULTS, document, write
from scale_tests.measure.page import markdown
from scale_tests.measure.tables import show_bars

Cell = dict[str, Any]

_SETTLED = 0.75
"""Of the memory that is free, what is touched before anything is measured."""

PARTS = ("throughput", "ping", "dispatch", "replies", "footprint")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(prog="python -m scale_tests runtime", description=__doc__)
    root.add_argument("names", nargs="*", metavar="PART", help="default: all")
    return root


def main(arguments: Sequence[str]) -> int:
    """Measures the parts that are named, or all."""
    names = parser().parse_args(arguments).names
    quick = os.environ.get("QUICK") == "1"
    console = Console()
    if unknown := [name for name in names if name not in PARTS]:
        console.print(f"unknown part {unknown[0]}; there are {', '.join(PARTS)}")
        return 2
    return terminal.run(
        lambda: _run(console, set(names or PARTS), quick=quick),
        CommandError,
        FleetError,
        StalledError,
        WireError,
        interrupted=": nothing was written.",
    )


def _run(console: Console, parts: set[str], *, quick: bool) -> int:
    started = datetime.now(UTC)
    chosen = plans.plan(quick=quick, controls=congestion_controls())
    otp.compile_runtime()
    touched = memory.settle(int(_SETTLED * procfs.memory_available()))
    console.print(f"touched {touched >> 20:,} MiB of memory, so that nobody is the first to do so")
    cells = _measure(chosen, parts, console)
    weights = footprint.measure(chosen.nodes, console.print) if "footprint" in parts else []
    bars = report.bars(cells)
    light = report.footprint_bars(weights) if weights else []

    def measured(name: str, found: Sequence[Cell], held: Sequence[Bar]) -> Cell:
        return document(
            name,
            started=started,
            versions=versions.of_machine(cell["otp"] for cell in found if "otp" in cell),
            cells=found,
            bars=held,
            config=asdict(chosen),
            quick=quick,
            seconds=round((datetime.now(UTC) - started).total_seconds()),
        )

    written = measured("bench-runtime", cells, bars)
    directory = RESULTS / "bench-runtime"
    files = [write(written), *pictures.draw(cells, directory)]
    if weights:
        files.append(write(measured("footprint", weights, light)))
    files.append(directory / "README.md")
    files[-1].parent.mkdir(exist_ok=True)
    shown = page.page(written["meta"], cells, weights, [*bars, *light])
    files[-1].write_text(markdown(shown, directory))
    page.show(console, cells, weights)
    held = show_bars(console, [*bars, *light])
    console.print(f"Written: {', '.join(str(relative(file)) for file in files)}")
    return 0 if held else 1


def _measure(chosen: plans.Plan, parts: set[str], console: Console) -> list[Cell]:
    cells: list[Cell] = []
    for rtt_ms, congestion in chosen.wires:
        jobs = []
        if "throughput" in parts:
            jobs += plans.throughput(chosen, rtt_ms=rtt_ms, congestion=congestion)
        if congestion == "reno" and "ping" in parts:
            jobs += plans.head_of_line(chosen, rtt_ms=rtt_ms)
        if (rtt_ms, congestion) == chosen.wires[0]:
            jobs += plans.dispatch(chosen) if "dispatch" in parts else []
            jobs += plans.replies(chosen) if "replies" in parts else []
        if jobs:
            with wire(rtt_ms, congestion) as line:
                cells += driver.run(line, jobs, console.print)
                cells += driver.run(line, _again(chosen, cells, line), console.print)
    return cells


def _again(chosen: plans.Plan, cells: Sequence[Cell], line: Wire) -> list[plans.Job]:
    """What was nearly met on this line, to be measured with more repetitions."""
    if line.congestion != "reno":
        return []
    missed = [target for target in report.near_misses(cells) if target.rtt_ms == line.rtt_ms]
    points = dict.fromkeys((t.point.payload, t.point.lanes) for t in missed if t.point)
    ping = any(target.point is None for target in missed)
    return plans.again(chosen, list(points), ping=ping, rtt_ms=line.rtt_ms)
