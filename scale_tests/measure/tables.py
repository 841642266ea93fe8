"""Tables for the terminal."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from rich import table as rich

from scale_tests.measure.page import Table


def spread(figures: Iterable[float]) -> str:
    """The median of some figures, at least one, with the least and the largest of them."""
    values = list(figures)
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def terminal_table(title: str, table: Table) -> rich.Table:
    """A table of a page for the terminal: the first column is text, figures are aligned right."""
    shown = rich.Table(
        title=title, title_justify="left", show_header=any(table.head), caption=table.caption
    )
    for index, name in enumerate(table.head):
        shown.add_column(name, justify="right" if index else "left")
    for row in table.rows:
        shown.add_row(*row)
    return shown
