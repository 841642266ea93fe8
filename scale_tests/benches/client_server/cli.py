"""`python -m scale_tests client-server [run|report] [--out DIRECTORY]`: a server with many clients.

`run` measures a server's memory with bounded queues and without bounds, prints a table and writes
JSON, pictures and a page into DIRECTORY (build/results/client_server) after each run; it ends with
1 when a bar is missed. `report` writes the page of a DIRECTORY again. `QUICK=1` has 128 clients and
says so in the result; the environment variables `CLIENTS`, `SPEEDUP`, `INCREMENTS`, `SERVER_CPUS`
and `MEMORY_LIMIT` (MiB) set what they name.

A server receives a state of N counters from each of N clients per interval: what it has to do grows
with the square of the clients and with the speedup. So 128 clients at 64 times the speed are to it
what 1,024 are at the published intervals. It has a quarter of a CPU for that (root is needed).
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from scale_tests.benches.client_server import report
from scale_tests.benches.client_server.experiment import INCREMENTS, Cell, Run, measure
from scale_tests.cluster.fleet import FleetError, build_release
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import CommandError, relative
from scale_tests.measure import document as documents
from scale_tests.measure import terminal, versions
from scale_tests.measure.document import RESULTS
from scale_tests.measure.tables import show_bars

_FULL_CLIENTS, _QUICK_CLIENTS = 1024, 128
_FULL_SPEEDUP, _QUICK_SPEEDUP = 4.0, 256.0
_FULL_LIMIT, _QUICK_LIMIT = 4096.0, 1024.0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(
        prog="python -m scale_tests client-server",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("command", nargs="?", choices=("run", "report"), default="run")
    root.add_argument("--out", type=Path, default=RESULTS / report.NAME, metavar="DIRECTORY")
    return root


def plan(*, quick: bool) -> list[Run]:
    """One server and four with bounds, and one without."""

    def setting(name: str, full: float, short: float) -> float:
        return float(os.environ.get(name, short if quick else full))

    clients = int(setting("CLIENTS", _FULL_CLIENTS, _QUICK_CLIENTS))
    speedup = setting("SPEEDUP", _FULL_SPEEDUP, _QUICK_SPEEDUP)
    increments = int(setting("INCREMENTS", INCREMENTS, INCREMENTS))
    limit = setting("MEMORY_LIMIT", _FULL_LIMIT, _QUICK_LIMIT)
    cpus = setting("SERVER_CPUS", Run.server_cpus, Run.server_cpus)
    return [
        Run(
            clients=clients,
            servers=servers,
            speedup=speedup,
            increments=increments,
            bounded=bounded,
            server_cpus=cpus,
            memory_limit=limit,
        )
        for servers, bounded in ((1, True), (4, True), (1, False))
    ]


def main(arguments: Sequence[str]) -> int:
    """Runs a command; returns 1 if a bar is missed."""
    options = parser().parse_args(arguments)
    directory: Path = options.out.resolve()
    if options.command == "report":
        return terminal.run(
            lambda: _report(Console(), directory), OSError, interrupted=": the page is not written."
        )
    quick = os.environ.get("QUICK") == "1"
    return terminal.run(
        lambda: _measure(Console(), plan(quick=quick), directory, quick=quick),
        CommandError,
        FleetError,
        StalledError,
        interrupted=f": runs that have ended are in {relative(directory)}.",
    )


def _measure(console: Console, runs: Sequence[Run], directory: Path, *, quick: bool) -> int:
    started = datetime.now(UTC)
    release = build_release()
    cells: list[Cell] = []
    for run in runs:
        cells.append(measure(run, release, console.print))
        # Each takes long, and the last one may take the machine's memory: what there is is kept.
        measured = report.document(
            cells,
            runs,
            started=started,
            versions=versions.of_machine(cell["otp"] for cell in cells),
            quick=quick,
        )
        documents.write(measured)
        report.write(measured, directory)
    return _show(console, cells, directory)


def _report(console: Console, directory: Path) -> int:
    measured = json.loads((directory / f"{report.NAME}.json").read_text())
    cells: list[Cell] = measured["cells"]
    report.write(measured, directory)
    return _show(console, cells, directory)


def _show(console: Console, cells: Sequence[Cell], directory: Path) -> int:
    console.print(report.table(cells))
    held = show_bars(console, report.bars(cells))
    console.print(f"Written: {relative(directory)}")
    return 0 if held else 1
