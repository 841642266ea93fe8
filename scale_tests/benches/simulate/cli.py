"""`python -m scale_tests simulate run` and `draw`: experiments in virtual time, and their pictures.

`run` writes `simulate.json`, and pictures and a page in a directory next to it. `draw` draws the
figures of such a file as the documents show them, `simulated-NAME.svg` in docs/pictures.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from scale_tests import otp
from scale_tests.benches.simulate import page, pictures, report, runner
from scale_tests.benches.simulate.plan import plan
from scale_tests.host.commands import ROOT, CommandError, relative
from scale_tests.measure import checks, terminal, versions
from scale_tests.measure.document import RESULTS, write
from scale_tests.measure.figure import Cell
from scale_tests.measure.tables import terminal_table


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(
        prog="python -m scale_tests simulate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = root.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the experiments and compare with the papers'")
    run.set_defaults(command=_run)
    run.add_argument("--quick", action="store_true", help="clusters of a tenth of the size")
    run.add_argument("--seed", type=int, default=1, help="the same seed is the same run")
    run.add_argument("--only", nargs="+", default=[], metavar="EXPERIMENT")
    run.add_argument("--most", type=int, metavar="NODES", help="leave out what is larger")
    run.add_argument("--out", type=Path, default=RESULTS, help="where results go")
    draw = commands.add_parser("draw", help="draw a run's figures for the documents")
    draw.set_defaults(command=_draw)
    draw.add_argument(
        "result", nargs="?", type=Path, default=RESULTS / "simulate.json", metavar="RESULT"
    )
    draw.add_argument("--into", type=Path, default=ROOT / "docs" / "pictures", metavar="DIRECTORY")
    return root


def main(arguments: Sequence[str]) -> int:
    """Runs a command; returns the exit status, 1 when a check is missed."""
    options = parser().parse_args(arguments)
    return terminal.run(
        lambda: int(options.command(Console(), options)),
        CommandError,
        OSError,
        ValueError,
        interrupted=": nothing was written.",
    )


def _run(console: Console, options: argparse.Namespace) -> int:
    jobs = plan(quick=options.quick, seed=options.seed, only=options.only, most=options.most)
    started = datetime.now(UTC)
    otp.compile_runtime()
    outcomes = runner.run_all(jobs)
    figures = report.cells(outcomes)
    found = report.checks(figures, outcomes)
    document = report.document(
        figures,
        outcomes,
        found,
        versions=versions.of_machine(outcome.otp for outcome in outcomes),
        quick=options.quick,
        started=started,
    )
    for title, table in report.tables(figures, document["meta"]).items():
        console.print(terminal_table(title, table))
    held = checks.show(console, found)
    file = write(document, options.out)
    pictured = file.with_suffix("")
    page.write(figures, document["meta"], found, pictures.draw(figures, pictured), pictured)
    console.print(f"Written: {relative(file)}, page and pictures in {relative(pictured)}")
    return 0 if held else 1


def _draw(console: Console, options: argparse.Namespace) -> int:
    figures = [Cell(**cell) for cell in json.loads(options.result.read_text())["cells"]]
    for file in pictures.illustrate(figures, options.into):
        console.print(f"Written: {relative(file)}")
    return 0
