"""A bench with simulated pods, from its command line to its document."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.table import Table

from scale_tests.cluster.kube import ApiError
from scale_tests.cluster.kwok import build, confinement
from scale_tests.cluster.kwok.control_plane import settings_in
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import CommandError, relative
from scale_tests.localkube import build as localkube_build
from scale_tests.localkube.errors import LocalkubeError
from scale_tests.measure import terminal, versions
from scale_tests.measure.bars import Bar
from scale_tests.measure.conclusion import conclude
from scale_tests.measure.document import RESULTS
from scale_tests.measure.kwok.experiment import Cell, Scenario, measure

_CONFINED = "--confined"


class Report(Protocol):
    """What is made of the cells of all scenarios."""

    def bars(self, cells: Sequence[Cell], /) -> list[Bar]:
        """What is asked of them."""

    def table(self, cells: Sequence[Cell], /) -> Table:
        """The figures, for the terminal."""

    def draw(self, cells: Sequence[Cell], directory: Path, /) -> list[Path]:
        """Draws them into a directory; the files."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Scenarios, and what is made of them."""

    name: str
    """Of the document, such as `bench-operator`."""

    command: str
    """Its name for `python -m scale_tests`."""

    about: str | None
    """What its command line says that it does."""

    scenarios: Callable[[bool], Sequence[Scenario]]
    """What is measured; True for what `QUICK=1` asks for."""

    report: Report
    """What is made of the cells: a module."""


def main(bench: Bench, arguments: Sequence[str]) -> int:
    """Measures all scenarios, one after the other, in a place of their own.

    The bench is begun once more in there, with an argument that tells it so. Returns the status to
    exit with: 1 when a bar is missed.
    """
    root = argparse.ArgumentParser(
        prog=f"python -m scale_tests {bench.command}", description=bench.about
    )
    root.add_argument(_CONFINED, action="store_true", help=argparse.SUPPRESS)
    confined = root.parse_args(arguments).confined
    return terminal.run(
        lambda: _measure(bench) if confined else _confine(bench),
        ApiError,
        CommandError,
        LocalkubeError,
        StalledError,
        interrupted=": nothing was written.",
    )


def _confine(bench: Bench) -> int:
    """Builds what is needed, with the network that this takes, and runs the bench confined."""
    localkube_build.ensure_built()
    build.ensure_built()
    return confinement.confine("scale_tests", bench.command, _CONFINED)


def _measure(bench: Bench) -> int:
    confinement.heed()
    console, started = Console(), datetime.now(UTC)
    quick = os.environ.get("QUICK") == "1"
    scenarios = bench.scenarios(quick)
    cells = []
    for scenario in scenarios:
        with _directory(bench.name, console) as directory:
            cells.append(measure(scenario, directory, console.print))
    return conclude(
        console,
        bench.name,
        started=started,
        versions={
            **versions.of_repository(),
            "kubernetes": localkube_build.version(),
            "kwok": build.version(),
        },
        cells=cells,
        bars=bench.report.bars(cells),
        table=bench.report.table(cells),
        draw=lambda directory: bench.report.draw(cells, directory),
        config={
            "scenarios": [asdict(scenario) for scenario in scenarios],
            "pods_are": "simulated: KWOK says that they run, and a stand-in answers for them",
        },
        quick=quick,
    )


@contextmanager
def _directory(name: str, console: Console) -> Iterator[Path]:
    """A directory for one control plane. What fails in it leaves its logs in build/results."""
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as temporary:
        directory = Path(temporary)
        try:
            yield directory
        except Exception:
            kept = RESULTS / name / "logs"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(settings_in(directory).logs, kept)
            console.print(f"the logs: {relative(kept)}")
            raise
