"""The rates of a cluster's links, from what each node reports to have sent to each peer.

Rates fluctuate, and one that moves is a part of the next change: of 3,000 links these would be most
of the stream. So a rate stays as it was shown until it differs by more than chance explains: the
number of independent messages in an interval varies by its square root.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from math import sqrt
from typing import NamedTuple

from partisan_operator.console.patches import Document
from partisan_operator.console.values import figure
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

    def plus(self, other: "Rate") -> "Rate":
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


class Shown(NamedTuple):
    """The traffic of a link, both directions summed. While it is steady it is the same object."""

    rates: Mapping[str, Rate]
    """By channel, without the quiet ones."""

    document: Document
    """The same for the page, to three digits; empty if all is quiet."""


Links = Mapping[Link, Shown]


class LinkRates:
    """The rates of one cluster's links, each between the last two reports of a node."""

    def __init__(self) -> None:
        """Begin without a report."""
        self._seen: dict[str, Seen] = {}
        self._sent: dict[str, dict[str, dict[str, Rate]]] = {}
        """By node, peer and channel."""

        self._shown: Links = {}

    def update(self, seen: Mapping[str, Seen], channels: Collection[str]) -> Links:
        """Return the rates of these channels, on links between nodes that reported."""
        self._sent = {
            name: self._sent[name] if now is self._seen.get(name) else self._since(name, now)
            for name, now in seen.items()
        }
        self._seen = dict(seen)
        totals: dict[Link, dict[str, Rate]] = defaultdict(dict)
        for node, peers in self._sent.items():
            for peer, sent in peers.items():
                if peer in seen:
                    link = totals[(node, peer) if node < peer else (peer, node)]
                    for channel, rate in sent.items():
                        if channel in channels:
                            other = link.get(channel)
                            link[channel] = rate if other is None else rate.plus(other)
        self._shown = {link: _next(self._shown.get(link), rates) for link, rates in totals.items()}
        return self._shown

    def _since(self, name: str, now: Seen) -> dict[str, dict[str, Rate]]:
        """Return what a node has sent since its last report, by peer and channel."""
        then = self._seen.get(name)
        if then is None or then.report.incarnation != now.report.incarnation:
            return {}
        seconds = (now.at - then.at).total_seconds()
        if seconds <= 0 or now.report.traffic is None or then.report.traffic is None:
            return {}
        earlier = then.report.traffic.peers
        return {
            peer: {
                channel: Rate(messages / seconds, size / seconds, messages)
                for channel, counters in channels.items()
                if (before := earlier[peer].get(channel)) is not None
                # Counters begin anew with their connections.
                and (messages := counters.sent_messages - before.sent_messages) >= 0
                and (size := counters.sent_bytes - before.sent_bytes) >= 0
            }
            for peer, channels in now.report.traffic.peers.items()
            if peer in earlier
        }


def _next(before: Shown | None, now: Mapping[str, Rate]) -> Shown:
    """Return what is shown of a link after these rates."""
    earlier = {} if before is None else before.rates
    rates = {
        channel: shown
        for channel, rate in now.items()
        if (shown := _steady(rate, earlier.get(channel)))
    }
    if before is not None and rates == before.rates:
        return before
    channels = {
        channel: {
            "messages_per_second": figure(float(f"{rate.messages:.3g}")),
            "bytes_per_second": figure(float(f"{rate.bytes:.3g}")),
        }
        for channel, rate in sorted(rates.items())
    }
    return Shown(rates, {"channels": channels} if channels else {})


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
