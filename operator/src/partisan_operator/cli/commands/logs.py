"""`logs NAME`: the merged logs of all nodes, by time, each line with its node's name."""

import re
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from partisan_operator.children import naming
from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context

# [pod/ads-0/node] 2026-01-01T00:00:00.123456789Z the line
_PREFIXED = re.compile(r"\[pod/(?P<node>[^/]+)/[^]]+\] (?P<time>\S+) ?(?P<text>.*)")

_STAMPED = re.compile(r"time=(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z) (?P<text>.*)")
"""A line with its own time, as our nodes write them."""


@dataclass(frozen=True)
class Line:
    """One line of a node's log."""

    time: str
    node: str
    text: str

    @property
    def order(self) -> tuple[str, str]:
        """Sort key: whole seconds, then the fraction, which lacks trailing zeros."""
        seconds, _, fraction = self.time.removesuffix("Z").partition(".")
        return seconds, fraction


def run(context: Context, arguments: Namespace) -> int:
    """Write the merged logs; with `follow`, lines in the order of their arrival."""
    cluster = access.cluster_of(context, arguments.name)
    pods = [pod["metadata"]["name"] for pod in access.pods_of(context, cluster.name)]
    if unknown := [node for node in arguments.node if node not in pods]:
        first, last = (pods[0], pods[-1]) if pods else ("none", "none")
        raise CommandError(
            f"{cluster.name} has no node {unknown[0]!r}: its nodes are {first} to {last}"
        )
    wanted = set(arguments.node or pods)
    width = max(map(len, wanted), default=0)
    words = ["logs", f"--namespace={context.namespace}"]
    words += [f"--selector={naming.selector(cluster.name)}", "--prefix", "--timestamps"]
    words += [f"--tail={arguments.tail}", f"--max-log-requests={max(1, len(pods))}"]
    words += [f"--since={arguments.since}"] if arguments.since else []
    if arguments.follow:
        lines = read(context.api.stream([*words, "--follow"]))
    else:
        # A pod that has not started has no log.
        found = context.api.run([*words, "--ignore-errors"])
        # Not splitlines: a form feed or a separator of Unicode is part of its line.
        lines = iter(sorted(read(found.split("\n")), key=lambda line: line.order))
        if not found and not arguments.since and arguments.tail:
            own = f"kubectl partisan -n {context.namespace}"
            raise CommandError(f"no node has logged anything yet: see {own} status {cluster.name}")
    for line in lines:
        if line.node in wanted:
            context.write_log(f"{line.time} {line.node.ljust(width)} {line.text}")
    return 0


def read(lines: Iterable[str]) -> Iterator[Line]:
    """Read lines as `kubectl logs --prefix --timestamps` writes them; others are left out.

    The time of a line is its own, or else the container runtime's.
    """
    for line in lines:
        if match := _PREFIXED.fullmatch(line.removesuffix("\r")):
            own = _STAMPED.fullmatch(match["text"]) or match
            yield Line(own["time"], match["node"], own["text"])
