"""`python -m scale_tests.runtime [PART ...]`: the runtime beside its rivals; its weight.

The parts are `throughput`, `ping`, `dispatch`, `replies` and `footprint`; all of them by default.
Prints tables, writes build/results/bench-runtime.json and footprint.json, a page and pictures; ends
with 1 when a bar is missed. `QUICK=1` takes fewer points and says so in the result.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from scale_tests.demo.report import machine
from scale_tests.formation.fleet import FleetError
from scale_tests.harness.commands import ROOT, CommandError, capture
from scale_tests.harness.progress import StalledError
from scale_tests.runtime import driver, footprint, page, pictures, report
from scale_tests.runtime import plan as plans
from scale_tests.runtime.wire import WireError, congestion_controls, wire

Cell = dict[str, Any]

PARTS = ("throughput", "ping", "dispatch", "replies", "footprint")
RESULTS = ROOT / "build" / "results"


def main(names: Sequence[str]) -> int:
    """Measures the parts that are named, or all."""
    quick = os.environ.get("QUICK") == "1"
    console = Console()
    if unknown := [name for name in names if name not in PARTS]:
        console.print(f"unknown part {unknown[0]}; there are {', '.join(PARTS)}")
        return 2
    parts = set(names or PARTS)
    started = datetime.now(UTC)
    chosen = plans.plan(quick=quick, controls=congestion_controls())
    try:
        driver.compile_runtime()
        cells = _measure(chosen, parts, console)
        weights = _weigh(chosen, console) if "footprint" in parts else []
    except (CommandError, FleetError, StalledError, WireError) as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    meta = {
        "started": started.isoformat(),
        "seconds": round((datetime.now(UTC) - started).total_seconds()),
        "versions": {"otp": _otp(), "commit": capture(["git", "rev-parse", "HEAD"]).strip()},
        "machine": machine(),
        "config": asdict(chosen),
        "quick": quick,
    }
    held = report.bars(cells)
    light = report.footprint_bars(weights) if weights else []
    files: list[Path] = []
    RESULTS.mkdir(parents=True, exist_ok=True)
    if cells:
        files.append(_write("bench-runtime", meta, cells, held))
        files += pictures.draw(cells, RESULTS / "bench-runtime")
    if weights:
        files.append(_write("footprint", meta, weights, light))
    files.append(RESULTS / "bench-runtime" / "README.md")
    files[-1].parent.mkdir(exist_ok=True)
    files[-1].write_text(page.page(meta, cells, weights, [*held, *light]))
    page.show(console, cells, weights, [*held, *light])
    console.print(f"Written: {', '.join(str(file.relative_to(ROOT)) for file in files)}")
    return 0 if all(bar.ok for bar in (*held, *light)) else 1


def _measure(chosen: plans.Plan, parts: set[str], console: Console) -> list[Cell]:
    cells: list[Cell] = []
    for rtt_ms, congestion in chosen.wires:
        jobs = []
        if "throughput" in parts:
            jobs += plans.throughput(chosen, rtt_ms=rtt_ms, congestion=congestion)
        if congestion == "reno" and "ping" in parts:
            jobs += plans.head_of_line(chosen)
        if (rtt_ms, congestion) == chosen.wires[0]:
            jobs += plans.dispatch(chosen) if "dispatch" in parts else []
            jobs += plans.replies(chosen) if "replies" in parts else []
        if jobs:
            with wire(rtt_ms, congestion) as line:
                cells += driver.run(line, jobs, console.print)
    return cells


def _weigh(chosen: plans.Plan, console: Console) -> list[Cell]:
    return footprint.measure(chosen.nodes, console.print)


def _write(name: str, meta: Cell, cells: Sequence[Cell], held: Sequence[report.Bar]) -> Path:
    document = {
        "meta": {"name": name, **meta},
        "cells": cells,
        "bars": [asdict(bar) for bar in held],
    }
    file = RESULTS / f"{name}.json"
    file.write_text(json.dumps(document, indent=2) + "\n")
    return file


def _otp() -> str:
    program = "io:put_chars(erlang:system_info(otp_release)), halt()."
    return capture(["erl", "-noshell", "-eval", program])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
