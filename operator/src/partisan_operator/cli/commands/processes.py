"""`processes NODE`: the Erlang processes of a node that use most of a resource."""

import itertools
import json
from argparse import Namespace

from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import Json
from partisan_operator.cli.session import session
from partisan_operator.cli.text import plural, size, table

ORDERS = ("memory", "reductions", "messages")


def run(context: Context, arguments: Namespace) -> int:
    """Write the table once, or until interrupted."""
    if arguments.top < 1 or arguments.interval <= 0:
        raise CommandError("--top must be at least 1, and --interval more than 0 seconds")
    node = access.pod_of(context, arguments.node)["metadata"]["name"]
    window = str(max(1, round(1000 * arguments.interval)))
    with session(context, node) as opened:
        for _ in itertools.repeat(None) if arguments.watch else range(1):
            # The node counts reductions for as long, so that no other pause is needed.
            answer = opened.ask("processes", arguments.sort, str(arguments.top), window)
            if arguments.output == "json":
                context.write(json.dumps({"node": node, **answer}))
                continue
            try:
                text = screen(context, node, arguments.sort, answer)
            except (LookupError, TypeError, ValueError, OverflowError):
                raise CommandError(
                    f"{node} answers in another form than this plugin reads: use the plugin of the"
                    " release of the node's image, or -o json"
                ) from None
            context.write(text, clear=arguments.watch)
    return 0


def screen(context: Context, node: str, order: str, answer: Json) -> str:
    """Return the processes as a table."""
    rows = [
        (
            process["pid"],
            process["name"],
            process["current"],
            size(process["memory"]),
            f"{process['reductions']:,}",
            f"{process['messages']:,}",
        )
        for process in answer["top"]
    ]
    header = ("PID", "NAME OR START", "IN", "MEMORY", "REDUCTIONS/S", "MESSAGES")
    title = (
        f"{context.now():%H:%M:%S} UTC  {node}: {plural(answer['processes'], 'process', 'es')},"
        f" {answer['run_queue']} ready to run; by {order}"
    )
    return f"{title}\n{table([header, *rows], numbers=3)}"
