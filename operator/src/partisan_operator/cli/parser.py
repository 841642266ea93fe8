"""Builds the command line from the catalogue of commands."""

import argparse
from typing import Any

from partisan_operator import __version__
from partisan_operator.cli.catalogue import COMMANDS, COMMON

PROGRAM = "kubectl partisan"


def build() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        parents=[_common(default="")],
        description="Inspect and control PartisanClusters.",
        epilog="\n".join(["commands:", *_overview(), "", "`COMMAND --help` has examples of each."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=f"{PROGRAM} COMMAND [arguments] [-n NAMESPACE] [--context C] [--kubeconfig FILE]",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    groups: dict[tuple[str, ...], Any] = {(): _subcommands(parser)}
    for command in COMMANDS:
        group = command.words[:-1]
        if group not in groups:
            entry = groups[()].add_parser(group[0])
            groups[group] = _subcommands(entry, words=f" {group[0]}")
        entry = groups[group].add_parser(
            command.words[-1],
            # Valid before the command or after it: an absent option must not reset the other.
            parents=[_common(default=argparse.SUPPRESS)],
            description=command.summary + ".",
            epilog="\n".join(["examples:", *(f"  {PROGRAM} {line}" for line in command.examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for argument in command.arguments:
            entry.add_argument(*argument.flags, **argument.settings)
        entry.set_defaults(run=command.run, needs_cluster=command.needs_cluster)
    return parser


def _common(*, default: str) -> argparse.ArgumentParser:
    """Return the options that every command has."""
    parser = argparse.ArgumentParser(add_help=False)
    for *flags, text in COMMON:
        parser.add_argument(*flags, default=default, help=text)
    return parser


def _subcommands(parser: argparse.ArgumentParser, words: str = "") -> Any:
    """Add subcommands to a parser; the epilog lists them with their summaries."""
    return parser.add_subparsers(
        required=True, metavar="COMMAND", help=argparse.SUPPRESS, prog=f"{PROGRAM}{words}"
    )


def _overview() -> list[str]:
    names = [" ".join(command.words) for command in COMMANDS]
    width = max(map(len, names))
    return [
        f"  {name.ljust(width)}  {command.summary}"
        for name, command in zip(names, COMMANDS, strict=True)
    ]
