"""`attach NODE`: an Erlang shell on a running node."""

import sys
from argparse import Namespace

from partisan_operator.cli import access
from partisan_operator.cli.access import Context
from partisan_operator.cli.session import console


def run(context: Context, arguments: Namespace) -> int:
    """Connect the terminal, or another input, to the node's console until either ends."""
    node = access.pod_of(context, arguments.node)["metadata"]["name"]
    terminal = sys.stdin.isatty()
    if terminal:
        context.write(
            f"A shell on {node}: Ctrl-C or Ctrl-D leaves it; q(). and init:stop(). end the node."
        )
    return context.api.interact(console(context, node, *(["--tty"] if terminal else [])))
