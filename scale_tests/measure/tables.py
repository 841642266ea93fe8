"""Tables described by their columns, and tables for the terminal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from rich import table as rich

from scale_tests.measure.page import Table

Row = TypeVar("Row")
Column = tuple[str, Callable[[Row], str]]
"""The head of a column, and the text of a row under it."""


def tabulated(
    columns: Sequence[Column[Row]] | Mapping[str, Callable[[Row], str]],
    rows: Iterable[Row],
    caption: str = "",
) -> Table:
    """A table with these columns."""
    pairs = list(columns.items()) if isinstance(columns, Mapping) else columns
    return Table(
        head=[head for head, _ in pairs],
        rows=[[text(row) for _, text in pairs] for row in rows],
        caption=caption,
    )


def forms(
    data: Mapping[str, str | Sequence[str]], missing: str | None = None
) -> dict[str, Callable[[Mapping[str, Any]], str]]:
    """Columns from data: by their heads, formats of a row's members such as `{nodes:,}`.

    A row that lacks a member, or has None, has `missing` instead, or the second text of a format
    that is a pair. Raises KeyError where neither is given.
    """

    def column(form: str | Sequence[str]) -> Callable[[Mapping[str, Any]], str]:
        text, instead = (form, missing) if isinstance(form, str) else form

        def of(row: Mapping[str, Any]) -> str:
            try:
                return text.format_map({k: v for k, v in row.items() if v is not None})
            except KeyError:
                if instead is None:
                    raise
                return instead

        return of

    return {head: column(form) for head, form in data.items()}


def transposed(
    figures: Mapping[str, Callable[[Row], str]],
    rows: Mapping[str, Row],
    caption: str = "",
) -> Table:
    """A table with a column for each row, by its title, and a line for each figure."""
    lines = [[name, *map(text, rows.values())] for name, text in figures.items() if rows]
    return Table(head=["", *rows], rows=lines, caption=caption)


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
