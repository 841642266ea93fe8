"""`python -m scale_tests prediction CELLS ...`: predictions beside real cells."""

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
from scale_tests.measure import terminal
from scale_tests.measure.document import RESULTS
from scale_tests.measure.tables import show_bars


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
    """Compares; returns the exit status, 1 when a bar is missed."""
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


def own_simulator() -> Simulator:
    """The simulator of this repository, compiled. Raises CommandError."""
    otp.compile_runtime()
    return Simulator((str(otp.RUNTIME / "scripts" / simulator.PROGRAM),))


def _run(console: Console, options: argparse.Namespace) -> int:
    started = datetime.now(UTC)
    found = cells(options.cells)
    program = own_simulator()
    comparisons = []
    for cell in found.whole:
        comparisons.append(
            compare(
                cell,
                program,
                seed=options.seed,
                budget=options.budget,
                timeout=options.timeout,
                tell=lambda line: console.print(line, style="dim", markup=False),
            )
        )
        console.print(report.table(comparisons[-1]))
    written = report.write(
        report.Held(
            sources=options.cells,
            cells=found,
            comparisons=comparisons,
            seed=options.seed,
            started=started,
        ),
        options.out,
    )
    held = show_bars(console, written.bars)
    console.print(f"Written: {relative(written.page)}, pictures and JSON beside it")
    return 0 if held else 1
