"""The rates of a cluster's links, from what each node reports to have sent to each peer.

Rates fluctuate, and one that moves is a part of the next change: of 3,000 links these would be most
of the stream. So a rate stays as it was shown until it differs by more than chance explains: the
number of independent messages in an interval varies by its square root.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from math import sqrt
from typing import NamedTuple

from partisan_operator.observe.observation import Seen

TOLERANCE = (0.2, 0.5)
"""Share of a rate by which the shown one may differ from it: at least, for many messages, and at
most, for few."""


class Rate(NamedTuple):
    """Traffic of one channel."""

    messages: float
    """Per second."""

    bytes: float
    """Per second."""

    counted: int = 0
    """The number of messages that make this rate."""

    def plus(self, other: Rate) -> Rate:
        """Return the sum of two directions."""
        return Rate(
            self.messages + other.messages,
            self.bytes + other.bytes,
            self.counted + other.counted,
        )

    def reaches(self, messages: float, size: float) -> bool:
        """Whether one of the two figures is reached."""
        return self.messages >= messages or self.bytes >= size


QUIET = (0.5, 100.0)
"""Messages and bytes per second. A channel appears at one of them, and disappears below the half of
both: heartbeats, and an exchange now and then."""

Link = tuple[str, str]
"""Two nodes, in order."""

Rates = Mapping[Link, Mapping[str, Rate]]
"""By link and channel, both directions summed."""


class LinkRates:
    """The rates of one cluster's links, each between the last two reports of a node."""

    def __init__(self) -> None:
        """Begin without a report."""
        self._seen: dict[str, Seen] = {}
        self._sent: dict[str, dict[tuple[str, str], Rate]] = {}
        """By node: the rates by peer and channel."""

        self._shown: Rates = {}

    def update(self, seen: Mapping[str, Seen], channels: Collection[str]) -> Rates:
        """Return the rates of these channels, on links between nodes that reported."""
        self._sent = {
            name: self._sent[name] if now is self._seen.get(name) else self._since(name, now)
            for name, now in seen.items()
        }
        self._seen = dict(seen)
        totals: dict[Link, dict[str, Rate]] = defaultdict(dict)
        for node, sent in self._sent.items():
            for (peer, channel), rate in sent.items():
                if channel in channels and peer in seen:
                    link = totals[min(node, peer), max(node, peer)]
                    link[channel] = rate.plus(link.get(channel, Rate(0, 0)))
        self._shown = {
            link: {
                channel: shown
                for channel, rate in rates.items()
                if (shown := _steady(rate, self._shown.get(link, {}).get(channel)))
            }
            for link, rates in totals.items()
        }
        return self._shown

    def _since(self, name: str, now: Seen) -> dict[tuple[str, str], Rate]:
        """Return what a node has sent since its last report."""
        then = self._seen.get(name)
        if then is None or then.report.incarnation != now.report.incarnation:
            return {}
        seconds = (now.at - then.at).total_seconds()
        if seconds <= 0 or now.report.traffic is None or then.report.traffic is None:
            return {}
        rates = {}
        for peer, channels in now.report.traffic.peers.items():
            before = then.report.traffic.peers.get(peer, {})
            for channel in channels.keys() & before.keys():
                messages = channels[channel].sent_messages - before[channel].sent_messages
                size = channels[channel].sent_bytes - before[channel].sent_bytes
                # Counters begin anew with their connections.
                if messages >= 0 and size >= 0:
                    rates[peer, channel] = Rate(messages / seconds, size / seconds, messages)
        return rates


def _steady(rate: Rate, shown: Rate | None) -> Rate | None:
    """Return what is shown after another rate was; None for a quiet channel."""
    messages, size = QUIET
    if shown is None:
        return rate if rate.reaches(messages, size) else None
    if not rate.reaches(messages / 2, size / 2):
        return None
    least, most = TOLERANCE
    chance = 2 / sqrt(max(rate.counted, shown.counted, 1))
    tolerance = min(max(least, chance), most)
    alike = all(
        abs(now - before) <= tolerance * max(now, before)
        for now, before in [(rate.messages, shown.messages), (rate.bytes, shown.bytes)]
    )
    return shown if alike else rate
