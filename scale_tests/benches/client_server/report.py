"""What the runs are held to, and the directory that they leave: JSON, pictures and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from scale_tests.benches.client_server import page, pictures
from scale_tests.benches.client_server.experiment import Cell, Run
from scale_tests.benches.client_server.figures import (
    dropped,
    growth,
    is_exact,
    lasted,
    peak,
    run_of,
)
from scale_tests.measure import document as documents
from scale_tests.measure.bars import Bar
from scale_tests.measure.page import write as write_page

NAME = "client_server"
"""Of the measurement: its JSON's, and that of the directory where none is given."""

MOST_GROWTH = 1.25
"""By how much a bounded server's memory may grow from the second quarter of a run to its last."""

COLLAPSE = 4.0
"""How many times the memory of the bounded server the one without bounds must at least take."""


def document(
    cells: Sequence[Cell],
    runs: Sequence[Run],
    *,
    started: datetime,
    versions: Mapping[str, str],
    quick: bool,
) -> dict[str, Any]:
    """What `client_server.json` holds of the runs that were made, out of all that were planned."""
    return documents.document(
        NAME,
        started=started,
        versions=versions,
        cells=cells,
        bars=bars(cells),
        config={"runs": [asdict(run) for run in runs], "nodes_are": "processes, not pods"},
        quick=quick,
    )


def write(measured: Mapping[str, Any], directory: Path) -> None:
    """Writes such a document, with at least one cell, its pictures and its page."""
    cells: Sequence[Cell] = measured["cells"]
    documents.write(measured, directory)
    drawn = pictures.draw(cells, directory)
    write_page(page.page(measured["meta"], cells, bars(cells), drawn), directory)


def bars(cells: Sequence[Cell]) -> list[Bar]:
    """What is asked of the runs that were made."""
    found = []
    for cell in cells:
        run = run_of(cell)
        if not run.bounded:
            continue
        found += [
            Bar(
                name=f"{run.title}: every node ends with the exact counter",
                value=cell["outcome"],
                bar="finished",
                ok=is_exact(cell),
            ),
            Bar(
                name=f"{run.title}: growth of the server's memory, last over second quarter",
                value=round(growth(cell), 2),
                bar=f"<= {MOST_GROWTH:g}",
                ok=growth(cell) <= MOST_GROWTH,
            ),
        ]
    bounded = [cell for cell in cells if cell["bounded"] and cell["servers"] == 1]
    for cell in cells:
        if not cell["bounded"] and bounded:
            times = peak(cell) / peak(bounded[0])
            found.append(
                Bar(
                    name=f"{run_of(cell).title}: the server's memory over that with bounds",
                    value=round(times, 1),
                    bar=f">= {COLLAPSE:g}",
                    ok=times >= COLLAPSE,
                )
            )
    return found


def table(cells: Sequence[Cell]) -> Table:
    """The runs as a table for the terminal."""
    shown = Table(
        title="Client-server, nodes as processes of one machine (no pods)", title_justify="left"
    )
    shown.add_column("run")
    for column in ("speedup", "outcome", "seconds", "peak MiB", "growth", "dropped"):
        shown.add_column(column, justify="right")
    for cell in cells:
        shown.add_row(
            run_of(cell).title,
            f"{cell['speedup']:g}",
            cell["outcome"],
            f"{lasted(cell):.0f}",
            f"{peak(cell):.0f}",
            f"{growth(cell):.2f}",
            f"{dropped(cell):,}",
        )
    return shown
