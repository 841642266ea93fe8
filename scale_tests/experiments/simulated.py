"""What `make simulate` found for the same experiment, to stand beside real cells."""

from __future__ import annotations

import json
from pathlib import Path

from scale_tests.simulate import synchronization
from scale_tests.simulate.figure import Cell
from scale_tests.simulate.synchronization import Row

OVERLAY = "HyParView"
"""On the links of this overlay the ad counter is simulated."""


class SimulatedError(ValueError):
    """The file is no result of `make simulate`."""


def load(file: Path) -> list[Row]:
    """The simulated ad counters of a `simulate.json`.

    Raises:
        SimulatedError: it is something else.
    """
    try:
        cells = [Cell(**cell) for cell in json.loads(file.read_text())["cells"]]
        return synchronization.rows(cells)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SimulatedError(
            f"{file} is no result of `make simulate` ({type(error).__name__}: {error}): leave "
            "--simulated out, or run that first"
        ) from error
