"""From cells to checks and a table."""

import statistics
from collections.abc import Sequence

from scale_tests.host.units import MIB
from scale_tests.measure.checks import Check, at_most, equal
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell, Spread, having

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

    def of(figure: str, key: str) -> str:
        return str(Spread.of(cell[key] for cell in having(cells, figure=figure)))

    (rest,) = having(cells, figure="operator_at_rest")
    rows = [
        ("apply to all bare pods running, s", of("start", "baseline_seconds")),
        ("apply to all nodes ready and joined, s", of("start", "cluster_seconds")),
        ("boot of a node to joined, s", of("boot_to_joined", "seconds")),
        (
            f"operator's requests in {rest['seconds']:.0f} s of rest",
            f"{rest['reads']} reads, {rest['writes']} writes",
        ),
    ]
    if nodes := having(cells, figure="footprint"):

        def median(key: str) -> float:
            return float(statistics.median(node[key] for node in nodes))

        rows += [
            ("memory of an idle node (PSS), MiB", f"{median('pss') / MIB:.1f}"),
            ("of that private, MiB", f"{median('private') / MIB:.1f}"),
            ("processor time of a node until all had joined, s", f"{median('cpu_seconds'):.2f}"),
        ]
    return {"Joining": Table(head=("", ""), rows=rows)}
