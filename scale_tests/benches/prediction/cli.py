"""`python -m scale_tests prediction CELLS ...`: predictions next to real cells."""

from argparse import ArgumentTypeError
from contextlib import suppress
from pathlib import Path

from partisan_operator.predict import Assumptions, manifest, predict, simulator
from partisan_operator.predict.manifest import ManifestError
from partisan_operator.predict.prediction import BUDGET_SECONDS, TIMEOUT_SECONDS
from partisan_operator.predict.simulator import Simulator, SimulatorError

from scale_tests import otp
from scale_tests.benches.prediction import report
from scale_tests.benches.prediction.compare import (
    LATENCY_MS,
    CellError,
    Comparison,
    cells,
    pods_per_second,
)
from scale_tests.measure.bench import Bench, Session, option
from scale_tests.measure.cells import Result
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
    whole, others = cells(wanted.cells)
    otp.compile_runtime()
    comparisons = []
    for cell in whole:
        comparison = _compared(session, cell)
        comparisons.append(comparison)
        session.console.print(terminal_table(comparison.name, report.table(comparison)))
    run = report.Run(sources=wanted.cells, others=others, comparisons=comparisons, seed=wanted.seed)
    return conclude(session, run)


def _compared(session: Session, cell: Result) -> Comparison:
    """A cell with its prediction. Raises SimulatorError, ManifestError."""
    wanted, name = session.options, f"{cell.nodes} {cell.overlay} {cell.synchronization}"
    rate = pods_per_second(cell)
    prediction = predict(
        manifest.cluster_of(cell.config),
        Simulator((str(otp.RUNTIME / "scripts" / simulator.PROGRAM),)),
        Assumptions(seed=wanted.seed, latency_ms=LATENCY_MS, pods_per_second=rate),
        budget=wanted.budget,
        timeout=wanted.timeout,
        progress=lambda line: session.say(f"{name}: {line}"),
    )
    return Comparison(cell, prediction)


def conclude(session: Session, run: report.Run) -> int:
    """Writes all of a run; returns the exit status."""
    return session.reported(run).conclude(
        [comparison.json() for comparison in run.comparisons],
        versions=run.comparisons[-1].cell.versions,
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
