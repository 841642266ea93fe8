"""The directory of a run: its cells that are done, so that an interrupted run resumes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scale_tests.benches.experiments.experiment import Point
from scale_tests.host import files
from scale_tests.measure.cells import Result, result


class StoreError(Exception):
    """The directory holds another experiment; the text names the remedy."""


@dataclass(frozen=True)
class Store:
    """One file for each finished cell, in `cells/`; and why others were left out."""

    directory: Path

    def file(self, point: Point) -> Path:
        """The file of a point's cell."""
        return self.directory / "cells" / f"{point.slug}.json"

    def find(self, point: Point) -> Result | None:
        """The cell of a point, if it is done.

        Raises StoreError where it was made by another configuration, or cannot be read.
        """
        file = self.file(point)
        if not file.exists():
            return None
        try:
            found = result(json.loads(file.read_text()))
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"{file} cannot be read ({error}): remove it to run it again"
            ) from error
        if found.config != point.manifest():
            raise StoreError(
                f"{file} is of another configuration than the experiment has now: choose another "
                "directory with --out, or remove the file to run it again"
            )
        return found

    def results(self, points: Iterable[Point]) -> dict[str, Result]:
        """The cells of those points that are done, by the points' slugs. Raises StoreError."""
        return {point.slug: found for point in points if (found := self.find(point))}

    def save(self, point: Point, cell: Result) -> None:
        """Keeps a cell, whole or not at all."""
        file = self.file(point)
        file.parent.mkdir(parents=True, exist_ok=True)
        files.replace(file, json.dumps(cell.json(), indent=1) + "\n")

    def left_out(self) -> dict[str, str]:
        """Reasons why points were not run, by their slugs. Raises StoreError."""
        try:
            return dict(json.loads(self._reasons.read_text()))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise StoreError(f"{self._reasons} cannot be read ({error}): remove it") from error

    def save_left_out(self, reasons: Mapping[str, str]) -> None:
        """Keeps why points were not run."""
        write_changed(self._reasons, json.dumps(reasons, indent=1) + "\n")

    @property
    def _reasons(self) -> Path:
        return self.directory / "left-out.json"


def write_changed(file: Path, text: str) -> None:
    """Writes a file, unless it has this text: one under version control would count as changed."""
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
