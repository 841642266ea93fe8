"""`python -m scale_tests deletion`: forms and deletes clusters under a node agent.

Run by `make bench-deletion`, as the command of `scale_tests.cluster.agent`. A cell that is done is
kept under build/results/deletion/cells and not measured again; remove the file to do so.
`QUICK=1` takes 64 nodes and three overlays.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from scale_tests.benches.deletion import measure, plan, report
from scale_tests.benches.deletion.measure import NAMESPACE, Cell
from scale_tests.benches.deletion.plan import Point
from scale_tests.cluster import environment as environments
from scale_tests.cluster import operator
from scale_tests.cluster.environment import ConfigurationError, Environment
from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.removal import remove_namespace
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import CommandError, relative
from scale_tests.measure import terminal, versions
from scale_tests.measure.document import RESULTS, document, write
from scale_tests.measure.page import markdown
from scale_tests.measure.tables import show_bars

_DIRECTORY = RESULTS / "deletion"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(prog="python -m scale_tests deletion", description=__doc__)
    root.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=())
    root.add_argument("--overlays", type=lambda text: text.split(","), default=())
    root.add_argument("--out", type=Path, help="write document and page there, too")
    root.add_argument(
        "--report", action="store_true", help="measure nothing: document and page of what is done"
    )
    root.add_argument(
        "--installed", action="store_true", help="use the operator that is in the cluster already"
    )
    return root


def main(arguments: Sequence[str]) -> int:
    """Runs the cells that are not done; returns 1 when a target is missed."""
    options = parser().parse_args(arguments)
    return terminal.run(
        lambda: _measure(options),
        ApiError,
        CommandError,
        ConfigurationError,
        StalledError,
        interrupted=": the same command goes on with the cells that are not done.",
    )


def _measure(options: argparse.Namespace) -> int:
    started, console = datetime.now(UTC), Console()
    quick = os.environ.get("QUICK") == "1"
    points = plan.points(quick=quick, sizes=options.sizes, overlays=options.overlays)
    if options.report:
        points = [point for point in points if _file(point).exists()]
    environment = _environment(installed=options.installed or options.report)
    cluster = Cluster(environment.kubeconfig)
    cells = []
    try:
        for number, point in enumerate(points, start=1):
            console.print(f"[{number}/{len(points)}] {point.slug}", markup=False)
            cells.append(_cell(cluster, point, console))
    finally:
        remove_namespace(cluster, NAMESPACE)
    bars = report.bars(cells)
    found = versions.of_cluster(cluster, []) | {"otp": ", ".join({cell["otp"] for cell in cells})}
    measured = document(
        "deletion",
        started=started,
        versions=found,
        cells=cells,
        bars=bars,
        config={"cells": [point.slug for point in points]},
        quick=quick,
    )
    table = report.table(cells)
    shown = Table(*table.head, title="Deletion")
    for row in table.rows:
        shown.add_row(*row)
    console.print(shown)
    held = show_bars(console, bars)
    page = report.page(measured["meta"], cells, bars)
    files = [write(measured)]
    for directory in (_DIRECTORY, options.out):
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            files.append(directory / "README.md")
            files[-1].write_text(markdown(page, directory))
    if options.out is not None:
        files.append(write(measured, options.out))
    console.print(f"Written: {', '.join(str(relative(file)) for file in files)}")
    return 0 if held else 1


def _environment(*, installed: bool) -> Environment:
    if installed:
        found = environments.existing()
        if found is None:
            raise ConfigurationError("there is no cluster yet: leave --installed out")
        return found
    environment = environments.bring_up()
    operator.install(environment)
    return environment


def _file(point: Point) -> Path:
    return _DIRECTORY / "cells" / f"{point.slug}.json"


def _cell(cluster: Cluster, point: Point, console: Console) -> Cell:
    """The figures of a cell that is done, or is done now."""
    file = _file(point)
    if file.exists():
        done: Cell = json.loads(file.read_text())
        return done
    last = ""

    def say(line: str) -> None:
        nonlocal last
        if line != last:
            last = line
            console.print(f"  {line}", markup=False, highlight=False)

    cell = measure.run(cluster, point, say)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(cell, indent=1) + "\n")
    partial.rename(file)
    return cell
