"""From cells to checks and a table."""

import statistics
from collections.abc import Sequence

from scale_tests.host.documents import data_of
from scale_tests.host.units import MIB
from scale_tests.measure.checks import Check, at_most, equal
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell, Spread, having

_LINES = data_of(__file__)

MORE_THAN_THE_RUNTIME = 5.0
"""Seconds that joining may take in addition to the start of the same pods without an overlay."""


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets."""
    starts = having(cells, figure="start")
    beyond = statistics.median(c["cluster_seconds"] - c["baseline_seconds"] for c in starts)
    name = "seconds from apply to joined beyond what bare pods take"
    writes = sum(cell["writes"] for cell in having(cells, figure="operator_at_rest"))
    return [
        at_most(name, beyond, MORE_THAN_THE_RUNTIME, shown=round(beyond, 2)),
        equal("writes of the operator while nothing happens", writes, 0),
    ]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """Medians, with their spread where there are repetitions."""
    starts, (rest,) = having(cells, figure="start"), having(cells, figure="operator_at_rest")
    lines = _LINES["cluster"]
    found = {
        **rest,
        "bare": Spread.of(cell["baseline_seconds"] for cell in starts),
        "ours": Spread.of(cell["cluster_seconds"] for cell in starts),
        "boot": Spread.of(cell["seconds"] for cell in having(cells, figure="boot_to_joined")),
    }
    if nodes := having(cells, figure="footprint"):
        lines = lines | _LINES["nodes"]
        for figure, unit in (("pss", MIB), ("private", MIB), ("cpu_seconds", 1)):
            found[figure] = statistics.median(node[figure] for node in nodes) / unit
    rows = [(title.format(**found), text.format(**found)) for title, text in lines.items()]
    return {"Joining": Table(head=("", ""), rows=rows)}
