"""The diagrams of a run, and the tables of docs/evaluation/verification.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scale_tests.benches.verify import report
from scale_tests.benches.verify.runner import SCRIPT
from scale_tests.host.commands import ROOT, capture
from scale_tests.host.documents import with_part
from scale_tests.measure.page import Picture, Table, markdown_table

DOCUMENT = ROOT / "docs" / "evaluation" / "verification.md"
TABLES = ("figures", "fewest", "models", "own", "replays")
"""Its generated tables: functions of `report`, and marks in the document."""


def draw(_cells: Sequence[Any], directory: Path) -> list[Picture]:
    """The space-time diagram of one counterexample of each protocol and model."""
    pictures: list[Picture] = []
    found = directory / "counterexamples"
    for file in sorted(found.glob("otp*/*.counterexample")):
        name = file.name.rpartition("-")[0]
        drawn = directory / f"{name}.svg"
        if drawn in (picture.file for picture in pictures):
            continue
        capture([str(SCRIPT), "draw", str(file), f"out={directory}"])
        (directory / f"{file.stem}.svg").replace(drawn)
        pictures.append(Picture(title=f"A counterexample of {name}", file=drawn))
    return pictures


def publish(cells: Sequence[Any]) -> None:
    """Replaces the tables of docs/evaluation/verification.md by those of the cells.

    Raises ValueError where the marks of a table are missing.
    """
    text = DOCUMENT.read_text()
    for name in TABLES:
        table: Table = getattr(report, name)(cells)
        text = with_part(text, name, "\n".join(markdown_table(table)))
    DOCUMENT.write_text(text)
