"""`python -m scale_tests prediction CELLS ...`: predictions next to real cells."""

from argparse import ArgumentTypeError
from contextlib import suppress
from pathlib import Path

from partisan_operator.predict import simulator
from partisan_operator.predict.manifest import ManifestError
from partisan_operator.predict.prediction import BUDGET_SECONDS, TIMEOUT_SECONDS
from partisan_operator.predict.simulator import Simulator, SimulatorError

from scale_tests import otp
from scale_tests.benches.prediction import report
from scale_tests.benches.prediction.compare import CellError, cells, compare
from scale_tests.measure.bench import Bench, Session, option
from scale_tests.measure.tables import terminal_table

_MOST_SECONDS = 1e6


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0 < (seconds := float(text)) <= _MOST_SECONDS:
            return seconds
    raise ArgumentTypeError(f"{text!r} is no number of seconds above 0 and up to a million")


OPTIONS = (
    option(
        "cells",
        type=Path,
        nargs="+",
        help="directories of `python -m scale_tests experiments run`, or files of cells",
    ),
    option("--seed", type=int, default=1, help="the same one is the same prediction"),
    option("--budget", type=_seconds, default=BUDGET_SECONDS, help="as of `plan`"),
    option("--timeout", type=_seconds, default=TIMEOUT_SECONDS, help="as of `plan`"),
)


def _measure(session: Session) -> int:
    wanted = session.options
    found, comparisons = cells(wanted.cells), []
    otp.compile_runtime()
    for cell in found.whole:
        comparison = compare(
            cell,
            Simulator((str(otp.RUNTIME / "scripts" / simulator.PROGRAM),)),
            seed=wanted.seed,
            budget=wanted.budget,
            timeout=wanted.timeout,
            report=session.say,
        )
        comparisons.append(comparison)
        session.console.print(terminal_table(comparison.name, report.table(comparison)))
    return conclude(
        session,
        report.Run(sources=wanted.cells, cells=found, comparisons=comparisons, seed=wanted.seed),
    )


def conclude(session: Session, run: report.Run) -> int:
    """Writes all of a run; returns the exit status."""
    return session.reported(run).conclude(
        [comparison.json() for comparison in run.comparisons],
        versions=run.cells.whole[-1].versions,
        config={"cells": [source.name for source in run.sources]},
        seed=run.seed,
        simulated=True,
    )


BENCH = Bench(
    name="prediction",
    about=__doc__,
    measure=_measure,
    options=OPTIONS,
    expected=(CellError, ManifestError, OSError, SimulatorError),
)
