"""Tables for the terminal."""

from __future__ import annotations

from rich import table as rich

from scale_tests.measure.page import Table


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
