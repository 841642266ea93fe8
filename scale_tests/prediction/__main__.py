"""`python -m scale_tests.prediction CELLS ...`: predictions beside real cells."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from partisan_operator.plan import simulator
from partisan_operator.plan.manifest import ManifestError
from partisan_operator.plan.prediction import BUDGET_SECONDS, TIMEOUT_SECONDS
from partisan_operator.plan.simulator import Simulator, SimulatorError
from rich.console import Console

from scale_tests.harness import terminal
from scale_tests.harness.commands import CommandError, relative
from scale_tests.prediction import pictures, report
from scale_tests.prediction.compare import CellError, bars, cells, compare
from scale_tests.results import versions
from scale_tests.results.document import RESULTS, write
from scale_tests.results.tables import show_bars
from scale_tests.simulate.runner import ERLANG, compile_runtime


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(prog="python -m scale_tests.prediction", description=__doc__)
    root.add_argument(
        "cells",
        type=Path,
        nargs="+",
        help="directories of `python -m scale_tests run`, or files of cells",
    )
    root.add_argument("--seed", type=int, default=1, help="the same one is the same prediction")
    root.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="as of `plan`")
    root.add_argument("--timeout", type=float, default=TIMEOUT_SECONDS, help="as of `plan`")
    root.add_argument("--out", type=Path, default=RESULTS, help="where results go")
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
    compile_runtime()
    return Simulator((str(ERLANG / "scripts" / simulator.PROGRAM),))


def _run(console: Console, options: argparse.Namespace) -> int:
    started = datetime.now(UTC)
    found = cells(options.cells)
    program = own_simulator()
    comparisons = []
    for cell in found:
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
    directory = options.out / "prediction"
    drawn = pictures.draw(comparisons, directory)
    page = directory / "README.md"
    page.write_text(report.written(comparisons, drawn[0], directory))
    held = show_bars(console, bars(comparisons))
    file = write(
        report.document(
            comparisons,
            versions=versions.of_machine(),
            started=started,
            sources=options.cells,
            seed=options.seed,
        ),
        options.out,
    )
    console.print("Written: {}, {} and {}".format(*map(relative, (file, page, drawn[0]))))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
