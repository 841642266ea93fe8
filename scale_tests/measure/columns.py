"""Tables described by their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from scale_tests.measure.page import Table

Row = TypeVar("Row")
Column = tuple[str, Callable[[Row], str]]
"""The head of a column, and the text of a row under it."""


def tabulated(columns: Sequence[Column[Row]], rows: Iterable[Row], caption: str = "") -> Table:
    """A table with these columns."""
    return Table(
        head=[head for head, _ in columns],
        rows=[[text(row) for _, text in columns] for row in rows],
        caption=caption,
    )
