"""Experiments that no paper reports, by the size of the cluster.

The growth of the overlay, from sizes that were launched to a hundred times that; the overlays
compared with each other; and a ring of thousands of nodes: growth, kills, and the way back.
"""

from collections.abc import Iterable, Mapping, Sequence

from scale_tests.host.documents import data_of
from scale_tests.measure.checks import Check, at_least, equal
from scale_tests.measure.figure import Cell, grouped
from scale_tests.measure.page import Table
from scale_tests.measure.tables import forms, tabulated, transposed

EXPERIMENT, COMPARED, RING = "scale_curves", "overlays", "ring_scale"

LEAST_REACH = 99.9
"""Percent of the nodes that have to get a broadcast at any size."""

_DATA = data_of(__file__)
NOTES, COMPARED_NOTE, RING_NOTE = _DATA["notes"], _DATA["compared_note"], _DATA["ring_note"]
NAMES = _DATA["names"]

Row = Mapping[str, float]
"""The figures of a cluster of one size, by the simulator's names, and its `nodes`."""


def rows(figures: Iterable[Cell]) -> list[Row]:
    """The figures by size, small clusters first."""
    return [
        {
            **values,
            "nodes": nodes,
            "forming_kilobytes": values["forming_bytes_per_node"] / 1000,
            "kilobytes_per_second": values["bytes_per_node_second"] / 1000,
            "broadcast_hundredths": 100 * values["broadcast_seconds"],
        }
        for (_overlay, nodes), values in sorted(grouped(figures, EXPERIMENT).items())
    ]


def checks(measured: Sequence[Row]) -> list[Check]:
    """One component, and broadcasts that reach all, at each size."""
    found = []
    for row in measured:
        nodes, reach = row["nodes"], row["broadcast_reach"]
        name = f"a broadcast reaches of {nodes:,} nodes, % (simulated)"
        found += [
            equal(f"components of {nodes:,} nodes (simulated)", row["components"], 1),
            at_least(name, reach, LEAST_REACH, shown=round(reach, 4)),
        ]
    return found


def table(measured: Sequence[Row]) -> Table:
    """A column for each size, a line for each figure."""
    return transposed(forms(_DATA["figures"]), {f"{row['nodes']:,} nodes": row for row in measured})


def comparison(figures: Iterable[Cell]) -> Table:
    """A line for each overlay and size."""
    found = sorted(
        grouped(figures, COMPARED).items(),
        key=lambda item: (item[0][1], list(NAMES).index(item[0][0])),
    )
    rows = [
        {"overlay": NAMES[overlay], "nodes": nodes, **values} for (overlay, nodes), values in found
    ]
    return tabulated(forms(_DATA["compared"], missing="never"), rows)


def ring_checks(figures: Iterable[Cell]) -> list[Check]:
    """No write lost, and no index moved that need not, at each size of the ring."""
    found = []
    for (_, nodes), values in sorted(grouped(figures, RING).items()):
        excess = values["grow_moved"] + values["shrink_moved"] - 2 * values["minimum"]
        for name, value in (
            ("violations and partitions unavailable", values["violations"] + values["unsettled"]),
            ("indexes moved in excess, or not restored", excess + values["misplaced"]),
        ):
            title = f"ring of {nodes:,} nodes: {name} (simulated)"
            found.append(equal(title, value, 0))
    return found


def ring(figures: Iterable[Cell]) -> Table:
    """A column for each size of the ring, a line for each figure."""
    measured = sorted(grouped(figures, RING).items())
    rows = {f"{nodes:,} nodes": row for (_, nodes), row in measured}
    return transposed(forms(_DATA["ring"]), rows)
