"""`python -m scale_tests.formation [EXPERIMENT ...]`: measures how clusters form and fail.

Prints a table, writes build/results/formation.json and a picture; ends with 1 when a bar is missed.
`QUICK=1` takes fewer and smaller runs and says so in the result.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import Console

from scale_tests.demo.report import machine
from scale_tests.formation import experiments, report
from scale_tests.formation.experiments import Cell, Lab
from scale_tests.formation.fleet import FleetError, build_release
from scale_tests.harness.commands import ROOT, CommandError, capture


def plan(*, quick: bool) -> dict[str, Callable[[Lab], list[Cell]]]:
    """The experiments by name."""
    runs = 2 if quick else 3
    return {
        "formation": lambda lab: experiments.formation(
            lab, nodes=32 if quick else 64, runs=2 if quick else 20
        ),
        "mesh": lambda lab: experiments.mesh(
            lab, sizes=[4, 8, 16] if quick else [4, 8, 12, 16, 24, 32, 48, 64]
        ),
        "lanes": lambda lab: experiments.lanes(lab, parallelism=16, runs=runs),
        "failures": lambda lab: experiments.failures(lab, runs=runs),
    }


def main(names: Sequence[str]) -> int:
    """Runs the experiments that are named, or all."""
    quick = os.environ.get("QUICK") == "1"
    console = Console()
    known = plan(quick=quick)
    unknown = [name for name in names if name not in known]
    if unknown:
        console.print(f"unknown experiment {unknown[0]}; there are {', '.join(known)}")
        return 2
    started = datetime.now(UTC)
    cells: list[Cell] = []
    try:
        lab = Lab(release=build_release(), say=console.print)
        for name in names or known:
            cells += known[name](lab)
    except (CommandError, FleetError) as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    held = report.bars(cells)
    console.print(report.table(cells))
    for bar in held:
        state = "ok" if bar.ok else "MISSED"
        console.print(f"{state}: {bar.name}: {bar.value} ({bar.bar})", markup=False)
    results = ROOT / "build" / "results"
    results.mkdir(parents=True, exist_ok=True)
    meta = {
        "name": "formation",
        "started": started.isoformat(),
        "versions": {"otp": _otp(), "commit": capture(["git", "rev-parse", "HEAD"]).strip()},
        "machine": machine(),
        "quick": quick,
    }
    document = {"meta": meta, "cells": cells, "bars": [asdict(bar) for bar in held]}
    file = results / "formation.json"
    file.write_text(json.dumps(document, indent=2) + "\n")
    drawn = report.draw(cells, results / "formation")
    console.print(f"Written: {', '.join(str(f.relative_to(ROOT)) for f in (file, *drawn))}")
    return 0 if all(bar.ok for bar in held) else 1


def _otp() -> str:
    program = "io:put_chars(erlang:system_info(otp_release)), halt()."
    return subprocess.check_output(["erl", "-noshell", "-eval", program], text=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
