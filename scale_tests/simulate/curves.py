"""How the overlay of a cluster grows with it, from what has been launched to a hundred times that.

The cells are of one experiment, a set for each size; no paper reports of the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from rich.table import Table

from scale_tests.results.bars import Bar
from scale_tests.simulate.figure import Cell

EXPERIMENT = "scale_curves"

LEAST_REACH = 99.9
"""Percent of the nodes that have to get a broadcast at any size."""

NOTE = (
    "HyParView with the runtime's defaults and three seeds; all nodes start within ten seconds, "
    "one to twenty milliseconds apart from one another. Bytes are frames of the overlay, of each "
    "node: until all were one component, and per second once that had settled. Broadcasts: the "
    "worst of them."
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


HEAD = (
    "nodes",
    "join, s (median, most)",
    "whole, s",
    "degree (least, most)",
    "forming, kB",
    "bytes/s",
    "messages/s",
    "broadcast reaches, %",
    "hops",
    "last heard, s",
    "events",
    "events/CPU s",
    "heap of a node, bytes",
)
"""What `columns` are."""

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


def columns(row: Row) -> tuple[str, ...]:
    """A row in words, under `HEAD`."""
    return (
        f"{row.nodes:,}",
        f"{row.join_seconds_median:.2f}, {row.join_seconds_most:.2f}",
        f"{row.whole_seconds:.1f}",
        f"{row.mean_degree:.2f} ({row.least_degree:.0f}, {row.most_degree:.0f})",
        f"{row.forming_bytes_per_node / 1000:.1f}",
        f"{row.bytes_per_node_second:.0f}",
        f"{row.messages_per_node_second:.2f}",
        f"{row.broadcast_reach:.3f}",
        f"{row.broadcast_hops:.0f}",
        f"{row.broadcast_seconds:.2f}",
        f"{row.events:,.0f}",
        f"{row.events_per_cpu_second:,.0f}",
        f"{row.heap_bytes_per_node:,.0f}",
    )


def table(measured: Sequence[Row]) -> Table:
    """The rows as a table for the terminal."""
    drawn = Table(title="simulated: the overlay against its size", title_justify="left")
    for column in HEAD:
        drawn.add_column(column, justify="right")
    for row in measured:
        drawn.add_row(*columns(row))
    return drawn
