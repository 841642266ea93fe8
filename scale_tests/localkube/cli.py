"""The command line: `python -m scale_tests.localkube COMMAND`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from scale_tests.host.commands import CommandError
from scale_tests.localkube import build, cluster
from scale_tests.localkube.errors import LocalkubeError
from scale_tests.localkube.settings import RESERVED, Settings


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0, or 1 with an error or a cluster ill."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (CommandError, LocalkubeError) as error:
        print(f"localkube: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scale_tests.localkube",
        description="A real Kubernetes on this machine: no Docker engine, no registry.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="bring the cluster up; does only what is missing")
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
    up.set_defaults(run=_up)
    down = commands.add_parser("down", help="stop everything and leave nothing behind")
    down.set_defaults(run=_down)
    status = commands.add_parser("status", help="how each component is")
    status.set_defaults(run=_status)
    load = commands.add_parser("load-image", help="make images of OCI archives usable by pods")
    load.add_argument("archive", type=Path, nargs="+")
    load.set_defaults(run=_load_image)
    config = commands.add_parser("kubeconfig", help="print the path of the kubeconfig")
    config.set_defaults(run=_kubeconfig)
    tools = commands.add_parser(
        "tools", help="build kubectl, helm and the cluster's programs; print their directory"
    )
    tools.set_defaults(run=_tools)
    return parser


def _up(options: argparse.Namespace) -> int:
    chosen = {
        name: getattr(options, name)
        for name in cluster.CHOICES
        if getattr(options, name) is not None
    }
    cluster.up(replace(cluster.stored(Settings()), **chosen))
    return 0


def _down(_options: argparse.Namespace) -> int:
    cluster.down(Settings())
    return 0


def _status(_options: argparse.Namespace) -> int:
    settings = cluster.stored(Settings())
    components, obstacle = cluster.status(settings)
    print(f"{'COMPONENT':<28}{'PID':>9}{'MEMORY':>10}  READY")
    for component in components:
        pid = "-" if component.pid is None else str(component.pid)
        memory = f"{component.memory_bytes >> 20} MiB"
        print(f"{component.name:<28}{pid:>9}{memory:>10}  {component.obstacle or 'yes'}")
    each = f" on each of {settings.nodes} nodes" if settings.nodes > 1 else ""
    room = f"{settings.max_pods}{each}"
    print(f"\nkubeconfig  {settings.kubeconfig}\nlogs        {settings.logs}")
    print(f"pods        {obstacle or f'can run, up to {room}'}")
    return 1 if obstacle or any(component.obstacle for component in components) else 0


def _load_image(options: argparse.Namespace) -> int:
    for name in cluster.load_images(Settings(), options.archive):
        print(f"loaded {name}")
    return 0


def _kubeconfig(_options: argparse.Namespace) -> int:
    print(Settings().kubeconfig)
    return 0


def _tools(_options: argparse.Namespace) -> int:
    # The directory alone goes to standard output, for scripts.
    print(build.ensure_built())
    return 0
