"""`python -m scale_tests.simulate run [--quick] [--seed N] [--only EXPERIMENT ...]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime

from rich.console import Console

from scale_tests.harness.commands import CommandError
from scale_tests.simulate import pictures, report, runner
from scale_tests.simulate.plan import plan

INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(prog="python -m scale_tests.simulate", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the papers' experiments and compare")
    run.add_argument("--quick", action="store_true", help="clusters of a tenth of the size")
    run.add_argument("--seed", type=int, default=1, help="the same seed is the same run")
    run.add_argument("--only", nargs="+", default=[], metavar="EXPERIMENT")
    return root


def main(arguments: Sequence[str]) -> int:
    """Runs a command; returns the exit status, 1 when something measured misses its bar."""
    options = parser().parse_args(arguments)
    console = Console()
    try:
        jobs = plan(quick=options.quick, seed=options.seed, only=options.only)
        started = datetime.now().astimezone()
        runner.compile_runtime()
        outcomes = runner.run_all(jobs)
        figures = report.cells(outcomes)
        held = report.bars(figures, outcomes)
        report.show(console, figures, outcomes, held)
        file = report.write(
            report.document(figures, outcomes, quick=options.quick, started=started)
        )
        drawn = pictures.draw(figures, file.parent / "simulate")
    except (CommandError, OSError, ValueError) as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("\nInterrupted: nothing was written.")
        return INTERRUPTED
    console.print(f"Written: {file} and {len(drawn)} pictures in {file.parent / 'simulate'}")
    return 0 if all(bar.ok for bar in held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
