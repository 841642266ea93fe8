"""`python -m scale_tests experiments run EXPERIMENT [--out DIRECTORY]` and `report DIRECTORY`."""

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import yaml

from scale_tests.benches.experiments import comparison, runner, store
from scale_tests.benches.experiments import experiment as experiments
from scale_tests.benches.experiments.comparison import SimulatedError
from scale_tests.benches.experiments.experiment import Experiment, ExperimentError
from scale_tests.benches.experiments.report import Report, conclude
from scale_tests.benches.experiments.selection import Selection
from scale_tests.cluster import operator
from scale_tests.cluster.capacity import make_room
from scale_tests.host.commands import ExpectedError
from scale_tests.measure import document
from scale_tests.measure.bench import Bench, Option, Session, listed, option
from scale_tests.measure.cells import Result

PACKAGE = Path(__file__).resolve().parents[1]
EXPERIMENT = "experiment.yaml"
"""The copy of its experiment in a run's directory."""


def _some(name: str, such: str, kind: type = str) -> Option:
    """An option that restricts a run to some members of the experiment."""
    such_as = f"those of the experiment to run now, as {such}"

    def some(text: str) -> list[Any]:
        try:
            return [*map(kind, listed(text))]
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not such as {such}") from None

    return option(name, type=some, default=(), help=such_as)


OPTIONS = (
    option(
        "command",
        choices=("run", "report"),
        help="run an experiment, from where it was interrupted, and report it; or report it again",
    ),
    option(
        "what",
        type=Path,
        help="to run: such as experiments/paper.yaml, a path or one in scale_tests; "
        "to report: the directory of a run",
    ),
    # What is done in it is not done again; build/results/scale-NAME where it is not given.
    lambda parser: parser.set_defaults(out=None),
    option("--speedup", type=float, help="the experiment's, changed; 1 is real time"),
    option("--trials", type=int, help="the experiment's, changed"),
    _some("--sizes", "32,64", int),
    _some("--overlays", "HyParView"),
    _some("--synchronizations", "State,Tree"),
    option("--retry", action="store_true", help="run incomplete cells again"),
    option(
        "--installed",
        action="store_true",
        help="use the operator and the images that are in the cluster already",
    ),
    option(
        "--simulated",
        type=Path,
        metavar="FILE",
        help="a simulate.json of `make simulate`, to stand next to what is real",
    ),
)


def find(path: Path) -> Path:
    """The file of an experiment: a path as it is, else one of those in this package.

    Raises ExperimentError where there is none.
    """
    for candidate in (path, PACKAGE / path):
        if candidate.is_file():
            return candidate
    names = ", ".join(f"experiments/{file.name}" for file in own())
    raise ExperimentError(f"{path} is no file: choose one of {names}, or write your own")


def own() -> list[Path]:
    """The experiments in this package. YAML with the name of a module is that module's data."""
    files = sorted((PACKAGE / "experiments").glob("*.yaml"))
    return [file for file in files if not file.with_suffix(".py").exists()]


def _measure(session: Session) -> int:
    wanted = session.options
    rows = comparison.load(wanted.simulated)
    if wanted.command == "report":
        wanted.out = wanted.what
        chosen = experiments.load(session.directory / EXPERIMENT)
        results = list(store.results(session, chosen.points()).values())
    else:
        chosen = experiments.load(find(wanted.what), speedup=wanted.speedup, trials=wanted.trials)
        wanted.out = wanted.out or document.RESULTS / f"scale-{chosen.name}"
        results = _run(session, chosen)
    if not results:
        raise ExpectedError(f"there is no finished cell in {session.directory}: nothing to report")
    reasons = store.left_out(session)
    return conclude(
        session, Report(experiment=chosen, results=results, rows=rows, left_out=reasons)
    )


def _run(session: Session, chosen: Experiment) -> list[Result]:
    """Runs the cells that are asked for and not done; returns all that are done."""
    wanted = session.options
    selection = Selection(
        sizes=wanted.sizes, overlays=wanted.overlays, synchronizations=wanted.synchronizations
    )
    selection.check(chosen)
    points = chosen.points()
    todo = runner.to_do(points, store.results(session, points), selection, again=wanted.retry)
    kept: dict[str, Any] = chosen.model_dump(by_alias=True, mode="json", exclude_none=True)
    store.write_changed(session.directory / EXPERIMENT, yaml.safe_dump(kept, sort_keys=False))
    environment = operator.ready_cluster(installed=wanted.installed)
    if not wanted.installed:
        largest = max((point.nodes for point in todo), default=0)
        make_room(environment, largest, besides=runner.namespace_of(chosen))
    return runner.run(session, chosen, environment, selection=selection, again=wanted.retry)


BENCH = Bench(
    name="experiments",
    document="scale",
    about=__doc__,
    measure=_measure,
    options=OPTIONS,
    expected=(ExperimentError, OSError, SimulatedError),
    interrupted=": the same command continues with the cells that are not done.",
)
