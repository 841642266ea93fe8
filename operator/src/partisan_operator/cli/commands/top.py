"""`top NAME`: live traffic of the nodes on each channel."""

import itertools
import time
from argparse import Namespace
from collections.abc import Callable

from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context, Scrape
from partisan_operator.cli.commands.graph import no_answer, summary
from partisan_operator.cli.text import size, table
from partisan_operator.models import PartisanCluster
from partisan_operator.observe.traffic import aggregate, channel_names


def run(
    context: Context, arguments: Namespace, *, sleep: Callable[[float], None] = time.sleep
) -> int:
    """Write the table until interrupted, or as often as asked."""
    cluster = access.cluster_of(context, arguments.name)
    pods = access.pods_of(context, cluster.name)
    earlier = access.scrape(context, pods)
    if not earlier.seen:
        raise CommandError(no_answer(cluster.name, earlier))
    endless = itertools.repeat(None)
    for _ in range(arguments.count) if arguments.count else endless:
        sleep(arguments.interval)
        # The set of pods may have changed.
        pods = access.pods_of(context, cluster.name)
        current = access.scrape(context, pods)
        context.write(screen(context, cluster, earlier, current), clear=True)
        earlier = current
    return 0


def screen(context: Context, cluster: PartisanCluster, earlier: Scrape, current: Scrape) -> str:
    """Return the rates between two scrapes, summed over the nodes."""
    channels = aggregate(channel_names(cluster.spec), earlier.seen, current.seen)
    rows = [
        (
            channel.name,
            f"{channel.messages_per_second:,.1f}",
            f"{size(channel.bytes_per_second)}/s",
            f"{channel.messages:,}",
            size(channel.bytes),
            size(channel.queue_bytes),
            f"{channel.dropped:,}",
        )
        for channel in channels
    ]
    header = ("CHANNEL", "MESSAGES/S", "BYTES/S", "MESSAGES", "BYTES", "QUEUED", "DROPPED")
    title = f"{context.now():%H:%M:%S} UTC  {cluster.name}: {summary(current)}"
    return f"{title}\n{table([header, *rows], numbers=len(header) - 1)}\n"
