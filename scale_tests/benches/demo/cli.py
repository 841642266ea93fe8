"""`python -m scale_tests demo run|down`: a cluster from nothing to its end, and nothing again."""

from __future__ import annotations

import argparse
from pathlib import Path

from scale_tests.benches.demo import flow
from scale_tests.cluster.wait import STALL_SECONDS
from scale_tests.host.commands import ROOT
from scale_tests.measure.bench import Bench, Session


def options(parser: argparse.ArgumentParser) -> None:
    """The options that are its own."""
    parser.add_argument(
        "command",
        choices=("run", "down"),
        help="bring everything up and follow a cluster to its end; or remove all of it",
    )
    parser.add_argument(
        "--manifest",
        type=Path,
        default=ROOT / "examples" / "cluster.yaml",
        help="a PartisanCluster with an ad counter (default: examples/cluster.yaml)",
    )
    parser.add_argument(
        "--stall-seconds",
        type=float,
        default=STALL_SECONDS,
        help="give up when nothing has moved for so long (default: %(default)s)",
    )
    # A directory for each run, build/results/demo-DATE, where it is not given.
    parser.set_defaults(out=None)


def _measure(session: Session) -> int:
    wanted = session.options
    if wanted.command == "down":
        return flow.down(session.console)
    return flow.run(session, wanted.manifest, stall_seconds=wanted.stall_seconds)


BENCH = Bench(
    name="demo",
    about=__doc__,
    measure=_measure,
    options=options,
    expected=(OSError, ValueError),
    interrupted=". What runs, runs on: `make down` removes it.",
)
main = BENCH.main
