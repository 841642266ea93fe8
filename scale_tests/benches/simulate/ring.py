"""A simulated ring of thousands of nodes: growth, kills, and the way back, as in no paper."""

from collections.abc import Sequence

from scale_tests.host.documents import data_of
from scale_tests.measure.checks import Check, equal
from scale_tests.measure.figure import Cell, grouped
from scale_tests.measure.page import Table
from scale_tests.measure.tables import forms, transposed

EXPERIMENT = "ring_scale"

_DATA = data_of(__file__)
NOTE, FIGURES = _DATA["note"], _DATA["figures"]


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
            found.append(equal(title, value, 0))
    return found


def table(figures: Sequence[Cell]) -> Table:
    """A column for each size, a line for each figure."""
    measured = sorted(grouped(figures, EXPERIMENT).items())
    rows = {f"{nodes:,} nodes": row for (_, nodes), row in measured}
    return transposed(forms(FIGURES), rows)
