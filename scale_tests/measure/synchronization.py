"""What the ad counter transmits by each way to synchronise: ours, the published, and the least.

The experiment is C. Meiklejohn et al., "Practical Evaluation of the Lasp Programming Model at Large
Scale", PPDP 2017: every node counts 180 times, every 10 s, and propagates every 5 s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2

from rich.table import Table

from scale_tests.host.units import GIB
from scale_tests.measure.checks import Check
from scale_tests.measure.figure import Cell

EXPERIMENT = "synchronization"
INCREMENTS = 180
"""How often each node counts in the published run."""

PUBLISHED = {
    ("state", 32): 0.090,
    ("state", 64): 0.254,
    ("state", 128): 0.825,
    ("state", 256): 2.90,
    ("state", 512): 10.9,
    ("state", 1024): 41.8,
    ("delta", 32): 0.024,
    ("delta", 64): 0.078,
    ("delta", 128): 0.279,
    ("delta", 256): 1.02,
    ("delta", 512): 4.10,
    ("delta", 1024): 16.0,
}
"""Transmission over HyParView in GiB, read off the paper's figure."""

MOST = {"state": 41.8, "delta": 8.0, "tree": 0.8, "aggregate": 20 / 1024}
"""What a mode may transmit at 1,024 nodes, in GiB of payload."""

LARGEST = 1024

NOTE = (
    "GiB for 180 increments per node. Where fewer were simulated the rest is taken to be as the "
    "intervals after the first minute. Payload is what the paper counted: counters and parts of "
    "them, once per peer that they are sent to. Control is what the protocols say besides, frames "
    "are all messages as the transport writes them. The least: the final counts once to every "
    "node. Aggregate carries less information: every node learns the sums, not the counts."
)


HEAD = (
    "mode",
    "nodes",
    "simulated increments",
    "payload",
    "published",
    "control",
    "frames",
    "least",
    "seconds behind",
    "seconds to converge",
)
"""What `columns` are."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one way to synchronise transmits in a cluster of one size, in GiB."""

    mode: str
    nodes: int
    increments: int
    """How many increments per node were simulated."""
    payload: float
    control: float
    frames: float
    seconds_behind: float
    """By how many seconds of counting the mean replica is behind while all count."""
    seconds_to_converge: float
    """From the end of the counting to equal replicas everywhere."""

    @property
    def published(self) -> float | None:
        """The published transmission, if there is one."""
        return PUBLISHED.get((self.mode, self.nodes))


def rows(figures: Iterable[Cell]) -> list[Row]:
    """What was measured, by mode and size."""
    measured: dict[tuple[str, int], dict[str, float]] = {}
    for cell in figures:
        if cell.experiment == EXPERIMENT and isinstance(cell.parameter, str):
            measured.setdefault((cell.overlay, cell.nodes), {})[cell.parameter] = cell.value
    order = list(MOST)
    return sorted(
        (_row(mode, nodes, values) for (mode, nodes), values in measured.items()),
        key=lambda row: (order.index(row.mode), row.nodes),
    )


def _row(mode: str, nodes: int, values: dict[str, float]) -> Row:
    return Row(
        mode=mode,
        nodes=nodes,
        increments=int(values["increments"]),
        payload=_whole(values, "payload_bytes") / GIB,
        control=_whole(values, "control_bytes") / GIB,
        frames=_whole(values, "frame_bytes") / GIB,
        seconds_behind=values["seconds_behind"],
        seconds_to_converge=values["seconds_to_converge"],
    )


def _whole(values: dict[str, float], name: str) -> float:
    """The bytes of a whole run: after the first minute each interval is as the one before."""
    sent, warm = values[name], values["warm"]
    missing = INCREMENTS - values["increments"]
    if missing <= 0 or values["increments"] <= warm:
        return sent
    between = values[f"counted_{name}"] - values[f"warm_{name}"]
    return sent + missing * between / (values["increments"] - warm)


def least(nodes: int) -> float:
    """GiB that suffice to tell every node the final count of every other, and no less does."""
    return nodes * (nodes - 1) * log2(INCREMENTS + 1) / 8 / GIB


def bars(measured: Sequence[Row]) -> list[Check]:
    """What the largest cluster is held to."""
    return [
        Check(
            name=f"{row.mode}: payload at {row.nodes:,} nodes, GiB (simulated)",
            value=round(row.payload, 4),
            bar=f"< {MOST[row.mode]:.4g}",
            ok=row.payload < MOST[row.mode],
        )
        for row in measured
        if row.nodes == LARGEST
    ]


def columns(row: Row) -> tuple[str, ...]:
    """A row in words, under `HEAD`."""
    return (
        row.mode,
        f"{row.nodes:,}",
        f"{row.increments}",
        f"{row.payload:.4g}",
        "" if row.published is None else f"{row.published:g}",
        f"{row.control:.2g}",
        f"{row.frames:.4g}",
        f"{least(row.nodes):.2g}",
        f"{row.seconds_behind:.1f}",
        f"{row.seconds_to_converge:.1f}",
    )


def table(measured: Sequence[Row]) -> Table:
    """The rows as a table for the terminal."""
    drawn = Table(title="simulated: transmission of the ad counter, GiB", title_justify="left")
    for column in HEAD:
        drawn.add_column(column, justify="left" if column == HEAD[0] else "right")
    for row in measured:
        drawn.add_row(*columns(row))
    return drawn
