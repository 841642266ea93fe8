"""Growth of the overlay with its cluster, from sizes that were launched to a hundred times that.

And the overlays compared with each other. Cells are sets for a size, or for an overlay and a size;
no paper reports the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scale_tests.measure.checks import Check
from scale_tests.measure.figure import Cell, grouped
from scale_tests.measure.page import Table

EXPERIMENT, COMPARED = "scale_curves", "overlays"

LEAST_REACH = 99.9
"""Percent of the nodes that have to get a broadcast at any size."""

NOTE = (
    "HyParView with the runtime's defaults and three seeds; all nodes start within ten seconds, "
    "and a message takes one to twenty milliseconds. Bytes are frames of the overlay's channel, a "
    "node's share: until all were one component, and per second once that had settled. Of some "
    "broadcasts, by Plumtree, the one that fared worst."
)

COMPARED_NOTE = (
    "The runtime's defaults, three zones and three seeds, which are the servers and brokers; "
    "otherwise as above. In the end the first seed and a tenth of the other nodes die at once, and "
    "do not return. A node broadcasts in the same millisecond, and again when the survivors are "
    "one component. There is no full mesh above 256 nodes."
)

NAMES = {
    "full_mesh": "FullMesh",
    "client_server": "ClientServer",
    "publish_subscribe": "PublishSubscribe",
    "hyparview": "HyParView",
    "xbot": "XBot",
    "cyclon": "Cyclon",
    "scamp_v1": "ScampV1",
    "scamp_v2": "ScampV2",
    "hiscamp": "HiScamp",
}
"""Overlays by the simulator's names, in the order of the experiment."""

Row = Mapping[str, float]
"""The figures of a cluster of one size, by the simulator's names, and its `nodes`."""

FIGURES = (
    ("boot to joined, s: median", "{join_seconds_median:.2f}"),
    ("boot to joined, s: most", "{join_seconds_most:.2f}"),
    ("last start to one component, s", "{whole_seconds:.1f}"),
    ("neighbours: mean", "{mean_degree:.2f}"),
    ("neighbours: least to most", "{least_degree:.0f} to {most_degree:.0f}"),
    ("sent by a node while forming, kB", "{forming_kilobytes:.1f}"),
    ("sent by a node, settled, bytes/s", "{bytes_per_node_second:.0f}"),
    ("sent by a node, settled, messages/s", "{messages_per_node_second:.2f}"),
    ("a broadcast reaches, %", "{broadcast_reach:.4g}"),
    ("a broadcast's last hop", "{broadcast_hops:.0f}"),
    ("the last node hears a broadcast after, s", "{broadcast_seconds:.2f}"),
    ("simulator: events", "{events:,.0f}"),
    ("simulator: events per CPU second", "{events_per_cpu_second:,.0f}"),
    ("simulator: bytes of heap a node", "{heap_bytes_per_node:,.0f}"),
)
"""Lines of the table, and their format."""


def rows(figures: Iterable[Cell]) -> list[Row]:
    """The figures by size, small clusters first."""
    return [
        {"nodes": nodes, "forming_kilobytes": values["forming_bytes_per_node"] / 1000, **values}
        for (_overlay, nodes), values in sorted(grouped(figures, EXPERIMENT).items())
    ]


def checks(measured: Sequence[Row]) -> list[Check]:
    """One component, and broadcasts that reach all, at each size."""
    found = []
    for row in measured:
        nodes, components, reach = row["nodes"], row["components"], row["broadcast_reach"]
        found += [
            Check(
                name=f"components of {nodes:,} nodes (simulated)",
                value=components,
                bar="1",
                ok=components == 1,
            ),
            Check(
                name=f"a broadcast reaches of {nodes:,} nodes, % (simulated)",
                value=round(reach, 4),
                bar=f">= {LEAST_REACH}",
                ok=reach >= LEAST_REACH,
            ),
        ]
    return found


def table(measured: Sequence[Row]) -> Table:
    """A column for each size, a line for each figure."""
    return Table(
        head=["", *(f"{row['nodes']:,} nodes" for row in measured)],
        rows=[[name, *(form.format_map(row) for row in measured)] for name, form in FIGURES],
    )


def comparison(figures: Iterable[Cell]) -> Table:
    """A line for each overlay and size."""
    found = grouped(figures, COMPARED).items()
    shown = (
        ("neighbours: mean", "mean_degree", ".1f"),
        ("most", "most_degree", ",.0f"),
        ("sent by a node while forming, bytes", "forming_bytes_per_node", ",.0f"),
        ("sent by a node, settled, bytes/s", "bytes_per_node_second", ",.0f"),
        ("a broadcast reaches, %", "broadcast_reach", ".4g"),
        ("its last hop", "broadcast_hops", ".0f"),
        ("the last node hears it after, s", "broadcast_seconds", ".2f"),
        ("one amid the failures reaches, %", "reach_at_once", ".4g"),
        ("survivors one component after, s", "repair_seconds", ".1f"),
        ("a broadcast then reaches, %", "reach_repaired", ".4g"),
    )
    return Table(
        head=["overlay", "nodes", *(head for head, _, _ in shown)],
        rows=[
            [
                NAMES[overlay],
                f"{nodes:,}",
                *(format(v[key], form) if key in v else "never" for _, key, form in shown),
            ]
            for (overlay, nodes), v in sorted(
                found, key=lambda item: (item[0][1], list(NAMES).index(item[0][0]))
            )
        ],
    )
