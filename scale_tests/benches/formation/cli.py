"""`python -m scale_tests formation [EXPERIMENT ...]`: measures how clusters form and fail.

Prints a table, writes build/results/formation.json and a picture; ends with 1 when a bar is missed.
`QUICK=1` takes fewer and smaller runs and says so in the result.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from rich.console import Console

from scale_tests.benches.formation import experiments, report
from scale_tests.benches.formation.experiments import Cell, Lab
from scale_tests.cluster.fleet import FleetError, build_release
from scale_tests.host.commands import CommandError
from scale_tests.measure import terminal, versions
from scale_tests.measure.conclusion import conclude


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


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(prog="python -m scale_tests formation", description=__doc__)
    root.add_argument("names", nargs="*", metavar="EXPERIMENT", help="default: all")
    return root


def main(arguments: Sequence[str]) -> int:
    """Runs the experiments that are named, or all."""
    names = parser().parse_args(arguments).names
    quick = os.environ.get("QUICK") == "1"
    console = Console()
    known = plan(quick=quick)
    unknown = [name for name in names if name not in known]
    if unknown:
        console.print(f"unknown experiment {unknown[0]}; there are {', '.join(known)}")
        return 2
    return terminal.run(
        lambda: _measure(console, {name: known[name] for name in names or known}, quick=quick),
        CommandError,
        FleetError,
        interrupted=": nothing was written.",
    )


def _measure(
    console: Console, chosen: dict[str, Callable[[Lab], list[Cell]]], *, quick: bool
) -> int:
    started = datetime.now(UTC)
    lab = Lab(release=build_release(), say=console.print)
    cells = [cell for experiment in chosen.values() for cell in experiment(lab)]
    return conclude(
        console,
        "formation",
        started=started,
        versions=versions.of_machine(lab.otp),
        cells=cells,
        bars=report.bars(cells),
        table=report.table(cells),
        draw=lambda directory: report.draw(cells, directory),
        config={"experiments": list(chosen)},
        quick=quick,
    )
