"""`python -m scale_tests prediction CELLS ...`: predictions next to real cells."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from partisan_operator.predict import simulator
from partisan_operator.predict.manifest import ManifestError
from partisan_operator.predict.prediction import BUDGET_SECONDS, TIMEOUT_SECONDS
from partisan_operator.predict.simulator import Simulator, SimulatorError
from rich.console import Console

from scale_tests import otp
from scale_tests.benches.prediction import report
from scale_tests.benches.prediction.compare import CellError, cells, compare
from scale_tests.host.commands import CommandError, relative
from scale_tests.measure import checks, terminal
from scale_tests.measure.document import RESULTS
from scale_tests.measure.tables import terminal_table


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(prog="python -m scale_tests prediction", description=__doc__)
    root.add_argument(
        "cells",
        type=Path,
        nargs="+",
        help="directories of `python -m scale_tests experiments run`, or files of cells",
    )
    root.add_argument("--seed", type=int, default=1, help="the same one is the same prediction")
    root.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="as of `plan`")
    root.add_argument("--timeout", type=float, default=TIMEOUT_SECONDS, help="as of `plan`")
    root.add_argument(
        "--out", type=Path, default=RESULTS / "prediction", help="where page, pictures and JSON go"
    )
    return root


def main(arguments: Sequence[str]) -> int:
    """Compares; returns the exit status, 1 when a check is missed."""
    options = parser().parse_args(arguments)
    return terminal.run(
        lambda: _run(Console(), options),
        CellError,
        CommandError,
        ManifestError,
        OSError,
        SimulatorError,
        interrupted=": nothing was written.",
    )


def _run(console: Console, options: argparse.Namespace) -> int:
    started, found, comparisons = datetime.now(UTC), cells(options.cells), []
    otp.compile_runtime()
    for cell in found.whole:
        comparison = compare(
            cell,
            Simulator((str(otp.RUNTIME / "scripts" / simulator.PROGRAM),)),
            seed=options.seed,
            budget=options.budget,
            timeout=options.timeout,
            report=lambda line: console.print(line, style="dim", markup=False),
        )
        comparisons.append(comparison)
        console.print(terminal_table(comparison.name, report.table(comparison)))
    run = report.Run(
        sources=options.cells,
        cells=found,
        comparisons=comparisons,
        seed=options.seed,
        started=started,
    )
    held = checks.show(console, report.write(run, options.out))
    console.print(f"Written: page, pictures and JSON in {relative(options.out)}")
    return 0 if held else 1
