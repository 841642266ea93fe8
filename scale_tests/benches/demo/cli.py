"""`python -m scale_tests demo run|down`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from scale_tests.benches.demo import flow
from scale_tests.cluster.environment import ConfigurationError
from scale_tests.cluster.kube import ApiError
from scale_tests.cluster.wait import STALL_SECONDS, StalledError
from scale_tests.host.commands import CommandError
from scale_tests.measure import terminal


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(prog="python -m scale_tests demo", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="bring everything up and follow a cluster to its end")
    run.add_argument(
        "--manifest",
        type=Path,
        default=flow.Options.manifest,
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
    options = parser().parse_args(arguments)
    return terminal.run(
        lambda: _run(Console(), options),
        CommandError,
        ConfigurationError,
        ApiError,
        StalledError,
        OSError,
        ValueError,
        interrupted=". What runs, runs on: `make down` removes it.",
    )


def _run(console: Console, options: argparse.Namespace) -> int:
    if options.command == "down":
        flow.down(console)
        return 0
    done = flow.run(
        console,
        flow.Options(manifest=options.manifest, stall_seconds=options.stall_seconds),
    )
    return 0 if done else 1
