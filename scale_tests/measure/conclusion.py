"""The end of a measurement: what is shown, written and drawn of it, and how the process ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from scale_tests.host.commands import relative
from scale_tests.measure.bars import Bar
from scale_tests.measure.document import document, write
from scale_tests.measure.tables import show_bars


def conclude(
    console: Console,
    name: str,
    *,
    started: datetime,
    versions: Mapping[str, str],
    cells: Sequence[Mapping[str, Any]],
    bars: Sequence[Bar],
    table: Table,
    draw: Callable[[Path], Sequence[Path]],
    **meta: Any,
) -> int:
    """Prints table and bars, writes the document, and draws into a directory of its name.

    `meta` is as `document` takes it. Returns the status to exit with: 1 when a bar is missed.
    """
    measured = document(name, started=started, versions=versions, cells=cells, bars=bars, **meta)
    console.print(table)
    held = show_bars(console, bars)
    file = write(measured)
    files = (file, *draw(file.with_suffix("")))
    console.print(f"Written: {', '.join(str(relative(f)) for f in files)}")
    return 0 if held else 1
