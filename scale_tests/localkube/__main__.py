"""The command line: `python -m scale_tests.localkube COMMAND`."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import build, cluster
from scale_tests.localkube.settings import RESERVED, Settings


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0, or 1 with an error or a cluster ill."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except ExpectedError as error:
        print(f"localkube: {error}", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m scale_tests.localkube",
        description="A real Kubernetes on this machine: no Docker engine, no registry.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int | None], text: str) -> Any:
        added = commands.add_parser(name, help=text)
        added.set_defaults(run=run)
        return added

    up = command("up", _up, "bring the cluster up; does only what is missing")
    up.add_argument(
        "--max-pods", type=int, help="how many pods may run on a node, 10 to 1200 (250)"
    )
    up.add_argument("--nodes", type=int, help="how many nodes there are, 1 to 8 (1)")
    up.add_argument(
        "--reserved",
        action=argparse.BooleanOptionalAction,
        help=f"whether pods must tolerate the taint {RESERVED} to run on further nodes (no)",
    )
    up.add_argument("--zram-mib", type=int, help="MiB of compressed swap in memory, for many pods")
    command("down", lambda _: cluster.down(Settings()), "stop everything and leave nothing behind")
    command("status", _status, "how each component is")
    load = command("load-image", _load_image, "make images of OCI archives usable by pods")
    load.add_argument("archive", type=Path, nargs="+")
    command(
        "kubeconfig", lambda _: print(Settings().kubeconfig), "print the path of the kubeconfig"
    )
    # The directory alone goes to standard output, for scripts.
    command(
        "tools",
        lambda _: print(build.TOOLSET.ensure_built()),
        "build kubectl, helm and the cluster's programs; print their directory",
    )
    return parser


def _up(options: argparse.Namespace) -> None:
    given = {name: getattr(options, name) for name in cluster.CHOICES}
    chosen = {name: value for name, value in given.items() if value is not None}
    cluster.up(replace(cluster.stored(Settings()), **chosen))


def _status(_options: argparse.Namespace) -> int:
    return 0 if cluster.status(cluster.stored(Settings())) else 1


def _load_image(options: argparse.Namespace) -> None:
    for name in cluster.load_images(Settings(), options.archive):
        print(f"loaded {name}")


if __name__ == "__main__":
    sys.exit(main())
