"""From cells to targets, a table and a page."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from scale_tests.benches.deletion.plan import LARGEST_MESH, SIZES
from scale_tests.host.documents import data_of
from scale_tests.measure.checks import Check, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell
from scale_tests.measure.tables import forms, tabulated

SHARE_OF_FORMATION = 0.2
LARGEST_SECONDS = 60.0
ANSWER_SECONDS = 1.0

_DATA = data_of(__file__)
_NONE_LEFT = "none left"


def share(cell: Cell) -> float:
    """The processor time of the deletion over that of the formation."""
    return float(cell["nodes_cpu_s"]) / max(0.01, float(cell["formation_cpu_s"]))


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets."""
    found = []
    for nodes in SIZES:
        own = [cell for cell in cells if cell["nodes"] == nodes]
        worst = max(own, key=share, default=None)
        name = f"{nodes:,} nodes: CPU of the deletion over that of the formation, worst overlay"
        value = share(worst) if worst else None
        shown = f"{value:.3f} ({worst['overlay']})" if worst else None
        limit = partial(at_most, shown=shown, also=_NONE_LEFT, met=_none_left(own))
        found.append(limit(name, value, SHARE_OF_FORMATION))
    largest = [cell for cell in cells if cell["nodes"] == SIZES[-1]]
    return [
        *found,
        at_most(
            f"seconds until {SIZES[-1]:,} nodes are gone, slowest",
            max((float(cell["seconds"]) for cell in largest), default=None),
            LARGEST_SECONDS,
            also=_NONE_LEFT,
            met=_none_left(largest),
        ),
        at_most(
            "slowest answer of the API server during a deletion, seconds",
            max((float(cell["slowest_answer_s"]) for cell in cells), default=None),
            ANSWER_SECONDS,
        ),
    ]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """A row for each cell."""
    rows = [{**cell, "share": share(cell)} for cell in cells]
    return {"Cells": tabulated(forms(_DATA["columns"]), rows)}


def text(_meta: Mapping[str, Any], _cells: Sequence[Cell]) -> list[str]:
    """Paragraphs for the page of a run."""
    return [_DATA["nodes"], _DATA["mesh"].format(largest=LARGEST_MESH)]


def _none_left(cells: Sequence[Cell]) -> bool:
    return all(cell["left"] == 0 for cell in cells)
