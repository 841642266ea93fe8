"""A simulated ring of thousands of nodes: growth, kills, and the way back, as in no paper."""

from __future__ import annotations

from collections.abc import Sequence

from scale_tests.measure.checks import Check
from scale_tests.measure.figure import Cell, grouped
from scale_tests.measure.page import Section, Table

EXPERIMENT = "ring_scale"

NOTE = (
    "Simulated: a ring that has settled, three indexes a member, 32 clients. A 32nd more members "
    "join, a 128th are killed and come back without data, and those that joined leave. Gossip is "
    "that of real nodes, every 100 ms, in the external term format; a message takes 1 to 20 ms, "
    "and 2 % of them up to two seconds. Bandwidth, queues and processor time are not simulated."
)

FIGURES = (
    ("growth: all nodes know the plan after, s", "{grow_known_seconds:.2f}"),
    ("growth: settled after, s", "{grow_settled_seconds:.2f}"),
    ("growth: indexes moved, and the least possible", "{grow_moved:,.0f}, {minimum:,.0f}"),
    ("growth: gossip, kB a node", "{grow_gossip_kilobytes_per_node:,.1f}"),
    ("nodes killed, indexes rebuilt", "{kill_restarts:,.0f}, {kill_rebuilt:,.0f}"),
    ("settled after the last kill, s", "{kill_settled_seconds:.2f}"),
    ("way back: all nodes know the plan after, s", "{shrink_known_seconds:.2f}"),
    ("way back: settled after, s", "{shrink_settled_seconds:.2f}"),
    ("way back: indexes moved", "{shrink_moved:,.0f}"),
    ("way back: gossip, kB a node", "{shrink_gossip_kilobytes_per_node:,.1f}"),
    ("gossip at rest, bytes/s a node", "{rest_gossip_bytes_per_node_second:,.0f}"),
    ("ring state of a node, kB", "{state_kilobytes:,.1f}"),
    ("acknowledged writes, reads", "{writes:,.0f}, {reads:,.0f}"),
    ("requests that failed", "{failed:,.0f}"),
    ("violations of the guarantees", "{violations:,.0f}"),
    ("simulator: messages", "{messages:,.0f}"),
    ("simulator: bytes of heap a node", "{heap_bytes_per_node:,.0f}"),
)
"""Lines of the table, and their format."""


def checks(figures: Sequence[Cell]) -> list[Check]:
    """No write lost, and no index moved that need not, at each size."""
    found = []
    for (_, nodes), values in sorted(grouped(figures, EXPERIMENT).items()):
        excess = values["grow_moved"] + values["shrink_moved"] - 2 * values["minimum"]
        for name, value in (
            ("violations and partitions unavailable", values["violations"] + values["unsettled"]),
            ("indexes moved in excess, or not restored", excess + values["misplaced"]),
        ):
            title = f"ring of {nodes:,} nodes: {name} (simulated)"
            found.append(Check(name=title, value=value, bar="0", ok=value == 0))
    return found


def table(figures: Sequence[Cell]) -> Table:
    """A column for each size, a line for each figure."""
    measured = sorted(grouped(figures, EXPERIMENT).items())
    return Table(
        head=["", *(f"{nodes:,} nodes" for (_, nodes), _ in measured)],
        rows=[[name, *(form.format_map(row) for _, row in measured)] for name, form in FIGURES]
        if measured
        else [],
    )


def section(figures: Sequence[Cell]) -> Section:
    """The figures by size, if there are any."""
    found = table(figures)
    return Section(title="The ring", text=[NOTE], parts=[found]) if found.rows else Section()
