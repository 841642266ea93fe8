"""How the overlay of a cluster grows with it, from what has been launched to a hundred times that.

The cells are of one experiment, a set for each size; no paper reports of the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields

from rich.table import Table

from scale_tests.measure.bars import Bar
from scale_tests.measure.figure import Cell

EXPERIMENT = "scale_curves"

LEAST_REACH = 99.9
"""Percent of the nodes that have to get a broadcast at any size."""

NOTE = (
    "HyParView with the runtime's defaults and three seeds; all nodes start within ten seconds, "
    "and a message takes one to twenty milliseconds. Bytes are frames of the overlay's channel, a "
    "node's share: until all were one component, and per second once that had settled. Of some "
    "broadcasts, by Plumtree, the one that fared worst."
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """The overlay of a cluster of one size. The names are those of the simulator's figures."""

    nodes: int
    join_seconds_median: float
    """From a node's start to its first neighbour."""
    join_seconds_most: float
    whole_seconds: float
    """From the last node's start until all are one component."""
    mean_degree: float
    least_degree: float
    most_degree: float
    components: float
    forming_bytes_per_node: float
    bytes_per_node_second: float
    messages_per_node_second: float
    broadcast_reach: float
    """In percent; like what follows of broadcasts, of the one that fared worst."""
    broadcast_hops: float
    broadcast_seconds: float
    """Until it had arrived for the last time."""
    heap_bytes_per_node: float
    """What a node takes in the simulator."""
    events: float
    events_per_cpu_second: float


FIGURES: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("boot to joined, s: median", lambda row: f"{row.join_seconds_median:.2f}"),
    ("boot to joined, s: most", lambda row: f"{row.join_seconds_most:.2f}"),
    ("last start to one component, s", lambda row: f"{row.whole_seconds:.1f}"),
    ("neighbours: mean", lambda row: f"{row.mean_degree:.2f}"),
    ("neighbours: least to most", lambda row: f"{row.least_degree:.0f} to {row.most_degree:.0f}"),
    ("sent by a node while forming, kB", lambda row: f"{row.forming_bytes_per_node / 1000:.1f}"),
    ("sent by a node, settled, bytes/s", lambda row: f"{row.bytes_per_node_second:.0f}"),
    ("sent by a node, settled, messages/s", lambda row: f"{row.messages_per_node_second:.2f}"),
    ("a broadcast reaches, %", lambda row: f"{row.broadcast_reach:.4g}"),
    ("a broadcast's last hop", lambda row: f"{row.broadcast_hops:.0f}"),
    ("the last node hears a broadcast after, s", lambda row: f"{row.broadcast_seconds:.2f}"),
    ("simulator: events", lambda row: f"{row.events:,.0f}"),
    ("simulator: events per CPU second", lambda row: f"{row.events_per_cpu_second:,.0f}"),
    ("simulator: bytes of heap a node", lambda row: f"{row.heap_bytes_per_node:,.0f}"),
)
"""What tables have of a row, and how it is written."""

_MEASURED = tuple(field.name for field in fields(Row) if field.name != "nodes")


def rows(figures: Iterable[Cell]) -> list[Row]:
    """What was measured, small clusters first."""
    measured: dict[int, dict[str, float]] = {}
    for cell in figures:
        if cell.experiment == EXPERIMENT and isinstance(cell.parameter, str):
            measured.setdefault(cell.nodes, {})[cell.parameter] = cell.value
    return [
        Row(nodes=nodes, **{name: values[name] for name in _MEASURED})
        for nodes, values in sorted(measured.items())
    ]


def bars(measured: Sequence[Row]) -> list[Bar]:
    """What each size is held to."""
    return [
        bar
        for row in measured
        for bar in (
            Bar(
                name=f"components of {row.nodes:,} nodes (simulated)",
                value=row.components,
                bar="1",
                ok=row.components == 1,
            ),
            Bar(
                name=f"a broadcast reaches of {row.nodes:,} nodes, % (simulated)",
                value=round(row.broadcast_reach, 4),
                bar=f">= {LEAST_REACH}",
                ok=row.broadcast_reach >= LEAST_REACH,
            ),
        )
    ]


def head(measured: Sequence[Row]) -> list[str]:
    """The head of a table with a column for each size."""
    return ["", *(f"{row.nodes:,} nodes" for row in measured)]


def lines(measured: Sequence[Row]) -> list[list[str]]:
    """The lines of that table, one for each figure."""
    return [[name, *(written(row) for row in measured)] for name, written in FIGURES]


def table(measured: Sequence[Row]) -> Table:
    """The same for the terminal."""
    drawn = Table(title="simulated: the overlay against its size", title_justify="left")
    for column in head(measured):
        drawn.add_column(column, justify="right" if column else "left")
    for line in lines(measured):
        drawn.add_row(*line)
    return drawn
