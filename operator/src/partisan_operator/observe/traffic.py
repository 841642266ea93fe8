"""Traffic by channel: totals over the nodes, and rates between two observations."""

from collections import defaultdict
from collections.abc import Mapping

from partisan_operator.models.spec import PartisanClusterSpec
from partisan_operator.models.status import MAX_COUNT, ChannelStatus
from partisan_operator.observe.observation import Seen
from partisan_operator.observe.report import ChannelReport

OVERLAY_CHANNEL = "overlay"
"""The channel that every cluster has, for membership."""


def channel_names(spec: PartisanClusterSpec) -> tuple[str, ...]:
    """Return the channels of a cluster; others that nodes report are ignored."""
    return (OVERLAY_CHANNEL, *(channel.name for channel in spec.channels))


def aggregate(
    names: tuple[str, ...], earlier: Mapping[str, Seen], current: Mapping[str, Seen]
) -> tuple[ChannelStatus, ...]:
    """Return the traffic of the channels, in the order of `names`.

    Rates come from nodes with the same incarnation in both observations, each over its own
    interval, so that a restarted node adds no negative rate and a late one no false peak.
    """
    return tuple(_channel(name, earlier, current) for name in names)


def _channel(name: str, earlier: Mapping[str, Seen], current: Mapping[str, Seen]) -> ChannelStatus:
    totals: dict[str, int] = defaultdict(int)
    messages_per_second = bytes_per_second = 0.0
    for pod, seen in current.items():
        now = seen.report.channels.get(name, ChannelReport())
        totals["messages"] += now.sent_messages
        totals["bytes"] += now.sent_bytes
        totals["dropped"] += now.dropped
        totals["queue_bytes"] += now.queue_bytes
        before = earlier.get(pod)
        if before is None or before.report.incarnation != seen.report.incarnation:
            continue
        seconds = (seen.at - before.at).total_seconds()
        if seconds > 0:
            then = before.report.channels.get(name, ChannelReport())
            messages_per_second += max(0, now.sent_messages - then.sent_messages) / seconds
            bytes_per_second += max(0, now.sent_bytes - then.sent_bytes) / seconds
    return ChannelStatus(
        name=name,
        messages=min(totals["messages"], MAX_COUNT),
        bytes=min(totals["bytes"], MAX_COUNT),
        dropped=min(totals["dropped"], MAX_COUNT),
        queue_bytes=min(totals["queue_bytes"], MAX_COUNT),
        messages_per_second=round(messages_per_second, 1),
        bytes_per_second=round(bytes_per_second, 1),
    )
