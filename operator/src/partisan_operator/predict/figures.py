"""Arithmetic on traffic: between moments, over phases, and over sizes of clusters."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

PAYLOAD = "payload"
"""Name of the payload, in bytes, among the channels' figures."""

OVERLAY = "overlay"
"""The channel of the membership."""

Figures = dict[str, float]
"""Payload, and each channel's messages and bytes (`gossip.bytes`)."""


@dataclass(frozen=True, kw_only=True)
class Channel:
    """Traffic of all nodes on a channel, as frames."""

    messages: float
    bytes: float


def flat(moment: Mapping[str, Any]) -> Figures:
    """Return the sums of a moment in the simulator's result as one map."""
    return {PAYLOAD: float(moment["payload_bytes"])} | {
        f"{name}.{figure}": float(value)
        for name, channel in moment["channels"].items()
        for figure, value in channel.items()
    }


def channels(figures: Figures) -> dict[str, Channel]:
    """Return the channels in the figures, by name."""
    names = sorted({name.partition(".")[0] for name in figures} - {PAYLOAD})
    return {
        name: Channel(messages=figures[f"{name}.messages"], bytes=figures[f"{name}.bytes"])
        for name in names
    }


def difference(after: Figures, before: Figures) -> Figures:
    """Return the traffic between two moments."""
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


def total(phases: Iterable[Figures]) -> Figures:
    """Return the traffic of several phases together.

    >>> total([{"payload": 1.0}, {"payload": 2.0, "gossip.bytes": 3.0}])
    {'payload': 3.0, 'gossip.bytes': 3.0}
    """
    found: Figures = {}
    for phase in phases:
        for name, value in phase.items():
            found[name] = found.get(name, 0.0) + value
    return found


def by_power(sizes: Sequence[int], figures: Sequence[Figures], nodes: int) -> Figures:
    """Return the figures of a cluster of that many nodes, from those of one or two sizes."""
    names = dict.fromkeys(name for each in figures for name in each)
    return {name: power(sizes, [each.get(name, 0.0) for each in figures], nodes) for name in names}


def power(sizes: Sequence[int], values: Sequence[float], nodes: int) -> float:
    """Return the value at that many nodes of a quantity that grows as a power of their number.

    >>> power([16, 32], [10.0, 40.0], 64)
    160.0
    """
    if sizes[-1] == nodes:
        return values[-1]
    grown = nodes / sizes[-1]
    if min(values) <= 0 or sizes[0] == sizes[-1]:
        return values[-1] * grown
    exponent = log(values[-1] / values[0]) / log(sizes[-1] / sizes[0])
    return float(values[-1] * grown**exponent)


def along_logarithm(sizes: Sequence[int], values: Sequence[float], nodes: int) -> float:
    """Return the value at that many nodes of a quantity that grows with their logarithm.

    Path lengths in an overlay of constant degree do.

    >>> along_logarithm([16, 32], [3.0, 4.0], 128)
    6.0
    """
    if sizes[-1] == nodes or sizes[0] == sizes[-1]:
        return values[-1]
    slope = (values[-1] - values[0]) / log(sizes[-1] / sizes[0])
    return max(0.0, values[-1] + slope * log(nodes / sizes[-1]))
