"""`python -m scale_tests demo run|down`: a cluster from nothing to its end, and nothing again."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from scale_tests.benches.demo import flow
from scale_tests.cluster.wait import STALL_SECONDS
from scale_tests.host.commands import ROOT
from scale_tests.measure import terminal
from scale_tests.measure.bench import EXPECTED


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(prog="python -m scale_tests demo", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="bring everything up and follow a cluster to its end")
    run.add_argument(
        "--manifest",
        type=Path,
        default=ROOT / "examples" / "cluster.yaml",
        help="a PartisanCluster with an ad counter (default: examples/cluster.yaml)",
    )
    run.add_argument(
        "--stall-seconds",
        type=float,
        default=STALL_SECONDS,
        help="give up when nothing has moved for so long (default: %(default)s)",
    )
    commands.add_parser("down", help="remove everything that `run` made")
    return root


def main(arguments: Sequence[str]) -> int:
    """Runs a command; returns the exit status."""
    options, console = parser().parse_args(arguments), Console()
    return terminal.run(
        lambda: (
            flow.down(console)
            if options.command == "down"
            else flow.run(console, options.manifest, stall_seconds=options.stall_seconds)
        ),
        *EXPECTED,
        OSError,
        ValueError,
        interrupted=". What runs, runs on: `make down` removes it.",
    )
