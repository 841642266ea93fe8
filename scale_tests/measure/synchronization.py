"""Transmission of the ad counter by each way to synchronise: ours, the published, the least.

The experiment is C. Meiklejohn et al., "Practical Evaluation of the Lasp Programming Model at Large
Scale", PPDP 2017: every node counts 180 times, every 10 s, and propagates every 5 s.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log2

from scale_tests.host.documents import data_of
from scale_tests.host.units import GIB
from scale_tests.measure.checks import Check, below
from scale_tests.measure.figure import Cell, grouped
from scale_tests.measure.page import Table
from scale_tests.measure.tables import forms, tabulated

EXPERIMENT = "synchronization"
INCREMENTS = 180
"""Increments of each node in the published run."""

_DATA = data_of(__file__)
NOTE: str = _DATA["note"]
PUBLISHED: Mapping[str, dict[int, float]] = _DATA["published"]
"""Transmission over HyParView in GiB by mode and nodes."""

MOST = {"state": 41.8, "delta": 8.0, "tree": 0.8, "aggregate": 20 / 1024}
"""The target of a mode at 1,024 nodes, in GiB of payload."""

LARGEST = 1024


@dataclass(frozen=True, kw_only=True)
class Row:
    """The transmission of one way to synchronise in a cluster of one size, in GiB."""

    mode: str
    nodes: int
    increments: int
    """Increments per node that were simulated."""
    payload: float
    control: float
    frames: float
    seconds_behind: float
    """Seconds of counting by which the mean replica is behind while all count."""
    seconds_to_converge: float
    """From the end of the counting to equal replicas everywhere."""

    @property
    def published(self) -> float | None:
        """The published transmission, if there is one."""
        return PUBLISHED.get(self.mode, {}).get(self.nodes)


def rows(figures: Iterable[Cell]) -> list[Row]:
    """The figures by mode and size."""
    found = [
        Row(
            mode=mode,
            nodes=nodes,
            increments=int(values["increments"]),
            payload=_whole(values, "payload_bytes") / GIB,
            control=_whole(values, "control_bytes") / GIB,
            frames=_whole(values, "frame_bytes") / GIB,
            seconds_behind=values["seconds_behind"],
            seconds_to_converge=values["seconds_to_converge"],
        )
        for (mode, nodes), values in grouped(figures, EXPERIMENT).items()
    ]
    order = list(MOST)
    return sorted(found, key=lambda row: (order.index(row.mode), row.nodes))


def _whole(values: dict[str, float], name: str) -> float:
    """The bytes of a whole run: after the first minute each interval is as the one before."""
    sent, warm = values[name], values["warm"]
    missing = INCREMENTS - values["increments"]
    if missing <= 0 or values["increments"] <= warm:
        return sent
    between = values[f"counted_{name}"] - values[f"warm_{name}"]
    return sent + missing * between / (values["increments"] - warm)


def least(nodes: int) -> float:
    """The least GiB that give every node the final count of every other."""
    return nodes * (nodes - 1) * log2(INCREMENTS + 1) / 8 / GIB


def checks(measured: Sequence[Row]) -> list[Check]:
    """The targets of the largest cluster."""
    return [
        below(
            f"{row.mode}: payload at {row.nodes:,} nodes, GiB (simulated)",
            row.payload,
            MOST[row.mode],
            shown=round(row.payload, 4),
        )
        for row in measured
        if row.nodes == LARGEST
    ]


def table(measured: Sequence[Row]) -> Table:
    """The rows in words."""
    rows = [
        {**asdict(row), "published": row.published, "least": least(row.nodes)} for row in measured
    ]
    return tabulated(forms(_DATA["columns"], missing=""), rows)
