"""The directory of a run: which of its cells are done, so that a run goes on where it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from scale_tests.experiments.experiment import Point
from scale_tests.experiments.result import Result, result


class StoreError(Exception):
    """The directory holds another experiment; the text says what to do."""


@dataclass(frozen=True)
class Store:
    """One file for each finished cell, in `cells/`."""

    directory: Path

    def file(self, point: Point) -> Path:
        """Where a point's cell is kept."""
        return self.directory / "cells" / f"{point.slug}.json"

    def find(self, point: Point) -> Result | None:
        """The cell of a point, if it is done.

        Raises:
            StoreError: it was made by another configuration, or cannot be read.
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

    def save(self, point: Point, cell: Result) -> Path:
        """Keeps a cell, whole or not at all."""
        file = self.file(point)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(cell.json(), indent=1) + "\n")
        return partial.rename(file)

    def results(self) -> list[Result]:
        """All cells, in the order of their names."""
        return [
            result(json.loads(file.read_text()))
            for file in sorted((self.directory / "cells").glob("*.json"))
        ]
