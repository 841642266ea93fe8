"""The commands: their arguments, summaries and examples."""

import argparse
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partisan_operator.cli.access import Context
from partisan_operator.cli.commands import (
    attach,
    backup,
    describe,
    dev,
    graph,
    logs,
    must_gather,
    overlay,
    pause,
    plan,
    processes,
    report,
    restart,
    restore,
    rollout,
    status,
    top,
    undo,
    web,
)
from partisan_operator.predict import Assumptions
from partisan_operator.predict.prediction import BUDGET_SECONDS, TIMEOUT_SECONDS

NAME = "name"
"""The argument with a cluster's name, completed from the namespace."""

NODE = "node"
"""The argument with a node's name."""

COMMON = (
    ("-n", "--namespace", "namespace of the cluster; default: that of the context"),
    ("--context", "context of the kubeconfig"),
    ("--kubeconfig", "default: the one that kubectl uses"),
)
"""The options of every command: flags, and their help."""

_MOST_SECONDS = 1e6

_Run = Callable[[Context, argparse.Namespace], int]


@dataclass(frozen=True)
class Argument:
    """One argument of a command, as `add_argument` takes it."""

    flags: tuple[str, ...]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Command:
    """A command: one or two words, its function, summary, examples and arguments."""

    words: tuple[str, ...]
    run: _Run
    summary: str
    examples: tuple[str, ...]
    arguments: tuple[Argument, ...] = field(default=())
    needs_cluster: bool = True
    """Whether it needs an API server."""


def _seconds(text: str) -> float:
    """Read a time span of an option. Raises `ArgumentTypeError`."""
    with suppress(ValueError):
        if 0 <= (seconds := float(text)) <= _MOST_SECONDS:
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to a million")


def _count(text: str) -> int:
    """Read a count of an option. Raises `ArgumentTypeError`."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return int(text)


def _argument(*flags: str, **settings: Any) -> Argument:
    return Argument(flags, settings)


_NAME = _argument(NAME, metavar="NAME", help="the cluster")
_NODE = _argument(NODE, metavar="NODE", help="the node: its pod's name")

_ASSUMED = Assumptions()
_LATENCY = "{}-{}".format(*_ASSUMED.latency_ms)

COMMANDS = (
    Command(
        ("status",),
        status.run,
        "What is wrong and what to do next, on one screen; exit status 3 when something is wrong",
        ("status", "status ads", "status ads -n staging"),
        (_argument(NAME, metavar="NAME", nargs="?", help="the cluster; default: all, in a table"),),
    ),
    Command(
        ("graph",),
        graph.run,
        "The overlay as its nodes report it: in the terminal, as DOT or as SVG",
        ("graph ads", "graph ads -o svg -f ads.svg", "graph ads -o dot | dot -Tpng > ads.png"),
        (
            _NAME,
            _argument("-o", "--output", choices=("text", "dot", "svg"), default="text"),
            _argument("-f", "--file", type=Path, help="write to this file instead of the output"),
        ),
    ),
    Command(
        ("web",),
        web.run,
        "The live page of all clusters in your browser, where the operator serves it",
        ("web", "web ads -n staging", "web --no-open --operator-namespace operators"),
        (
            _argument(NAME, metavar="NAME", nargs="?", help="open the page of this cluster"),
            _argument("--no-open", action="store_true", help="write the URL only"),
            _argument(
                "--operator-namespace",
                default=web.OPERATOR_NAMESPACE,
                help=f"your token goes to the operator there, default: {web.OPERATOR_NAMESPACE}",
            ),
            _argument(
                "--service-account",
                default="",
                help="look with a token of this ServiceAccount of the namespace, not your own",
            ),
        ),
    ),
    Command(
        ("top",),
        top.run,
        "Live traffic of the nodes on each channel",
        ("top ads", "top ads --interval 5 --count 3"),
        (
            _NAME,
            _argument("--interval", type=_seconds, default=2.0, help="seconds between scrapes (2)"),
            _argument("--count", type=_count, default=0, help="tables to write; 0: until Ctrl-C"),
        ),
    ),
    Command(
        ("report",),
        report.run,
        "The run result: a page of Markdown and a picture of the overlay",
        ("report ads", "report ads -d results"),
        (
            _NAME,
            _argument("-d", "--directory", type=Path, help="output directory (NAME-report)"),
        ),
    ),
    Command(
        ("backup",),
        backup.run,
        "The state of the workload in one file, from all nodes",
        ("backup ads", "backup ads --output ads.backup", "backup ads --output - | gzip > ads.gz"),
        (
            _NAME,
            _argument(
                "-o", "--output", type=Path, help="the file (its default name has the time); or -"
            ),
            _argument("--partial", action="store_true", help="even if some nodes do not answer"),
        ),
    ),
    Command(
        ("restore",),
        restore.run,
        "Have a cluster start from a backup; a running one loses nothing",
        (
            "restore ads.backup ads",
            "restore ads.backup ads --dry-run",
            "restore ads.backup ads --secret --object ads-state",
        ),
        (
            _argument("file", metavar="FILE", type=Path, help="a file of kubectl partisan backup"),
            _NAME,
            _argument("--secret", action="store_true", help="write a Secret, not a ConfigMap"),
            _argument("--object", default="", help="its name; default: NAME-backup-CHECKSUM"),
            _argument("--dry-run", action="store_true", help="let the API server check it only"),
        ),
    ),
    Command(
        ("plan",),
        plan.run,
        "Predict the behaviour and costs of a cluster by simulation, before its launch",
        (
            "plan -f cluster.yaml",
            "plan -f cluster.yaml --pods-per-second 3 --latency 1-20 -o json",
            "plan -f cluster.yaml -d plan --image registry.example/partisan/erlang-node:0.2.0",
        ),
        (
            _argument("-f", "--filename", required=True, help="the manifest; - for standard input"),
            _argument("-o", "--output", choices=("text", "json"), default="text"),
            _argument("-d", "--directory", type=Path, help="write a page and a picture to it"),
            _argument(
                "--seed",
                type=int,
                default=_ASSUMED.seed,
                help=f"equal seeds give equal plans ({_ASSUMED.seed})",
            ),
            _argument(
                "--latency",
                default=_LATENCY,
                help=f"milliseconds one way, a range ({_LATENCY})",
            ),
            _argument(
                "--pods-per-second",
                type=float,
                default=_ASSUMED.pods_per_second,
                help=f"rate at which nodes start ({_ASSUMED.pods_per_second:g})",
            ),
            _argument(
                "--zones",
                type=int,
                default=_ASSUMED.zones,
                help=f"zones that pods are spread over ({_ASSUMED.zones})",
            ),
            _argument(
                "--budget",
                type=float,
                default=BUDGET_SECONDS,
                help="approximate CPU seconds; longer simulations are replaced by smaller ones"
                f" ({BUDGET_SECONDS:g})",
            ),
            _argument(
                "--timeout",
                type=float,
                default=TIMEOUT_SECONDS,
                help=f"seconds, of each simulation ({TIMEOUT_SECONDS:g})",
            ),
            _argument("--server", action="store_true", help="let the API server check it first"),
            _argument("--image", default="", help="the node's image, to simulate in a container"),
            _argument("--simulator", default="", help="the command to simulate with"),
        ),
        needs_cluster=False,
    ),
    Command(
        ("overlay", "set"),
        overlay.run_set,
        "Change the overlay or its parameters while the cluster runs",
        (
            "overlay set ads XBot",
            "overlay set ads HyParView activeMax=8 shuffleInterval=5s --dry-run",
            "overlay set ads Static pattern=Ring",
        ),
        (
            _NAME,
            _argument("kind", metavar="KIND", help="HyParView, XBot, Cyclon, FullMesh, ..."),
            _argument(
                "parameters",
                metavar="key=value",
                nargs="*",
                help="parameters of the kind: kubectl explain pcl.spec.overlay --recursive",
            ),
            _argument("--dry-run", action="store_true", help="let the API server check it only"),
        ),
    ),
    Command(
        ("pause",),
        pause.run_pause,
        "Have the operator observe a cluster and change nothing",
        ("pause ads",),
        (_NAME,),
    ),
    Command(("resume",), pause.run_resume, "End a pause", ("resume ads",), (_NAME,)),
    Command(
        ("rollout", "status"),
        rollout.run_status,
        "Follow a change until the cluster matches its spec",
        ("rollout status ads", "rollout status ads --timeout 300"),
        (
            _NAME,
            _argument("--timeout", type=_seconds, default=0.0, help="seconds; 0: no timeout"),
            _argument(
                "--watch",
                action=argparse.BooleanOptionalAction,
                default=True,
                help="follow until the cluster is settled",
            ),
        ),
    ),
    Command(
        ("rollout", "pause"),
        pause.run_pause,
        "The same as pause: a rollout stops where it is",
        ("rollout pause ads",),
        (_NAME,),
    ),
    Command(
        ("rollout", "resume"),
        pause.run_resume,
        "The same as resume",
        ("rollout resume ads",),
        (_NAME,),
    ),
    Command(
        ("rollout", "undo"),
        undo.run_undo,
        "Restore the pods' image, resources and placement before their last change",
        ("rollout undo ads --dry-run", "rollout undo ads"),
        (
            _NAME,
            _argument("--dry-run", action="store_true", help="let the API server check it only"),
        ),
    ),
    Command(
        ("rollout", "restart"),
        restart.run_restart,
        "Replace all pods, a few at a time, while the overlay stays connected",
        ("rollout restart ads",),
        (_NAME,),
    ),
    Command(
        ("logs",),
        logs.run,
        "The logs of all nodes merged by time, each line with its node's name",
        ("logs ads --tail 20", "logs ads --node ads-3 --node ads-7 --since 10m", "logs ads -f"),
        (
            _NAME,
            _argument("--node", action="append", default=[], help="only this one; may be repeated"),
            _argument("--tail", type=int, default=100, help="last lines of each node (100)"),
            _argument("--since", default="", help="only lines newer than this: 30s, 10m, 2h"),
            _argument("-f", "--follow", action="store_true", help="continue with new lines"),
        ),
    ),
    Command(
        ("describe", "node"),
        describe.run_node,
        "One node, as Kubernetes and the node itself report it",
        ("describe node ads-3",),
        (_NODE,),
    ),
    Command(
        ("dev",),
        dev.run,
        "Compile an application and replace its changed modules in the running nodes, or its image",
        (
            "dev ads",
            "dev ads ../ads --watch",
            "dev ads --build make --beams ebin/*.beam",
            "dev ads --image registry.example.com/team/ads",
        ),
        (
            _NAME,
            _argument(
                "directory",
                metavar="DIRECTORY",
                nargs="?",
                type=Path,
                default=Path(),
                help="the application's; default: the present one",
            ),
            _argument("--watch", action="store_true", help="again after each change of a source"),
            _argument("--build", default="", help="default: rebar3 compile, or mix compile"),
            _argument("--beams", default="", help="pattern of the files of the compiled modules"),
            _argument(
                "--image",
                default="",
                metavar="REPOSITORY",
                help="build an image of this name and replace the pods, with any cluster",
            ),
            _argument("--load", default="", help="makes {image} available; default: docker push"),
        ),
    ),
    Command(
        ("attach",),
        attach.run,
        "An Erlang shell on a running node",
        ("attach ads-3",),
        (_NODE,),
    ),
    Command(
        ("processes",),
        processes.run,
        "The Erlang processes of a node that use most memory or time, or have most messages",
        (
            "processes ads-3",
            "processes ads-3 --sort reductions --watch",
            "processes ads-3 --sort messages --top 5 -o json",
        ),
        (
            _NODE,
            _argument("--sort", choices=processes.ORDERS, default="memory", help="memory"),
            _argument("--top", type=int, default=20, help="processes to show (20)"),
            _argument("--watch", action="store_true", help="repeat until Ctrl-C"),
            _argument(
                "--interval",
                type=_seconds,
                default=1.0,
                help="seconds in which reductions are counted (1)",
            ),
            _argument("-o", "--output", choices=("text", "json"), default="text"),
        ),
    ),
    Command(
        ("must-gather",),
        must_gather.run,
        "A diagnostic bundle for a bug report, without secrets",
        ("must-gather ads", "must-gather ads -f ads.tar.gz"),
        (
            _NAME,
            _argument("-f", "--file", type=Path, help="the bundle (its default name has the time)"),
        ),
    ),
)
