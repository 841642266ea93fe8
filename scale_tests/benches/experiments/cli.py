"""`python -m scale_tests experiments run EXPERIMENT [--out DIRECTORY]` and `report DIRECTORY`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from scale_tests.benches.experiments import experiment as experiments
from scale_tests.benches.experiments import report, runner, simulated
from scale_tests.benches.experiments.experiment import Experiment, ExperimentError
from scale_tests.benches.experiments.selection import Selection
from scale_tests.benches.experiments.simulated import SimulatedError
from scale_tests.benches.experiments.store import Store, StoreError, write_changed
from scale_tests.cluster import operator
from scale_tests.cluster.capacity import make_room
from scale_tests.host.commands import relative
from scale_tests.measure import checks, terminal
from scale_tests.measure.bench import EXPECTED
from scale_tests.measure.cells import Result
from scale_tests.measure.document import RESULTS

PACKAGE = Path(__file__).resolve().parents[1]
EXPERIMENT = "experiment.yaml"
"""The copy of its experiment in a run's directory."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(prog="python -m scale_tests experiments", description=__doc__)
    commands = root.add_subparsers(required=True)
    run = commands.add_parser(
        "run", help="run an experiment, from where it was interrupted, and report it"
    )
    run.set_defaults(command=_run)
    run.add_argument(
        "experiment",
        type=Path,
        help="such as experiments/paper.yaml: a path, or one in scale_tests",
    )
    run.add_argument(
        "--out",
        type=Path,
        help="the run's directory; what is done in it is not done again "
        "(default: build/results/scale-NAME)",
    )
    run.add_argument("--speedup", type=float, help="the experiment's, changed; 1 is real time")
    run.add_argument("--trials", type=int, help="the experiment's, changed")
    for option, split, such in (
        ("--sizes", _sizes, "32,64"),
        ("--overlays", _names, "HyParView"),
        ("--synchronizations", _names, "State,Tree"),
    ):
        such_as = f"those of the experiment to run now, as {such}"
        run.add_argument(option, type=split, default=(), help=such_as)
    run.add_argument("--retry", action="store_true", help="run incomplete cells again")
    run.add_argument(
        "--installed",
        action="store_true",
        help="use the operator and the images that are in the cluster already",
    )
    again = commands.add_parser("report", help="write the report of a run's directory again")
    again.set_defaults(command=_report)
    again.add_argument("directory", type=Path)
    for command in (run, again):
        command.add_argument(
            "--simulated",
            type=Path,
            metavar="FILE",
            help="a simulate.json of `make simulate`, to stand next to what is real",
        )
    return root


def _names(text: str) -> list[str]:
    return text.split(",")


def _sizes(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main(arguments: Sequence[str]) -> int:
    """Runs a command; returns the exit status, 1 when a check is missed."""
    options = parser().parse_args(arguments)
    return terminal.run(
        lambda: int(options.command(Console(), options)),
        *EXPECTED,
        ExperimentError,
        OSError,
        SimulatedError,
        StoreError,
        interrupted=": the same command continues with the cells that are not done.",
    )


def find(path: Path) -> Path:
    """The file of an experiment: a path as it is, else one of those in this package.

    Raises ExperimentError where there is none.
    """
    for candidate in (path, PACKAGE / path):
        if candidate.is_file():
            return candidate
    own = sorted(file.stem for file in (PACKAGE / "experiments").glob("*.yaml"))
    names = ", ".join(f"experiments/{name}.yaml" for name in own)
    raise ExperimentError(f"{path} is no file: choose one of {names}, or write your own")


def _run(console: Console, options: argparse.Namespace) -> int:
    chosen = experiments.load(
        find(options.experiment), speedup=options.speedup, trials=options.trials
    )
    selection = Selection(
        sizes=options.sizes,
        overlays=options.overlays,
        synchronizations=options.synchronizations,
    )
    selection.check(chosen)
    rows = simulated.load(options.simulated)
    store = Store((options.out or RESULTS / f"scale-{chosen.name}").resolve())
    points = chosen.points()
    todo = runner.to_do(points, store.results(points), selection, again=options.retry)
    document: dict[str, Any] = chosen.model_dump(by_alias=True, mode="json", exclude_none=True)
    write_changed(store.directory / EXPERIMENT, yaml.safe_dump(document, sort_keys=False))
    environment = operator.ready_cluster(installed=options.installed)
    if not options.installed:
        largest = max((point.nodes for point in todo), default=0)
        make_room(environment, largest, besides=runner.namespace_of(chosen))
    results = runner.run(
        console, chosen, store, environment, selection=selection, again=options.retry
    )
    return _conclude(console, chosen, results, rows, store)


def _report(console: Console, options: argparse.Namespace) -> int:
    store = Store(options.directory.resolve())
    chosen = experiments.load(store.directory / EXPERIMENT)
    results = list(store.results(chosen.points()).values())
    return _conclude(console, chosen, results, simulated.load(options.simulated), store)


def _conclude(
    console: Console,
    chosen: Experiment,
    results: Sequence[Result],
    rows: Sequence[simulated.Simulated],
    store: Store,
) -> int:
    directory, reasons = store.directory, store.left_out()
    if not results:
        raise StoreError(f"there is no finished cell in {directory}: nothing to report")
    found = report.write(chosen, results, rows, directory, left_out=reasons, latest=RESULTS)
    held = checks.show(console, found)
    console.print(f"\n{relative(directory)}/report.html and README.md", highlight=False)
    return 0 if held else 1
