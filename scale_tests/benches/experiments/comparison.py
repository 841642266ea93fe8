"""Results for comparison: the published transmission, and cells of `make simulate`.

C. Meiklejohn et al., "Practical Evaluation of the Lasp Programming Model at Large Scale", PPDP
2017: 180 increments of each node, one every 10 s, and propagation every 5 s, on 32 to 1,024 nodes.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scale_tests.benches.experiments.parts import AdCounter
from scale_tests.cluster.quantities import seconds
from scale_tests.host.units import GIB
from scale_tests.measure.figure import Cell
from scale_tests.measure.synchronization import INCREMENTS, PUBLISHED, Row, rows

INCREMENT_SECONDS, PROPAGATION_SECONDS = 10.0, 5.0
"""The published intervals."""

CLIENT_SERVER = {32: 0.043, 64: 0.125, 128: 0.42, 256: 1.44}
"""Transmission of full state through one server in GiB, read off the paper's figure. The run with
more nodes did not complete."""

OVERLAY = "HyParView"
"""On the links of this overlay the ad counter is simulated."""

FIGURES = ("bytes_payload", "bytes_frames")
"""Figures of a simulated cell that may have a threshold. Its seconds know no machine."""


class SimulatedError(ValueError):
    """The file is no result of `make simulate`."""


def published(overlay: str, synchronization: str) -> dict[int, float]:
    """The published transmission in GiB, by the number of nodes."""
    if overlay == "HyParView":
        return PUBLISHED.get(synchronization.lower(), {})
    is_published = overlay.startswith("ClientServer") and synchronization == "State"
    return CLIENT_SERVER if is_published else {}


def is_repeated_by(counter: AdCounter) -> bool:
    """Whether nodes count and exchange as often as in the published evaluation.

    The speed of both does not matter to the transmission.
    """
    exchanges = seconds(counter.increment_interval) / seconds(counter.propagation_interval)
    is_as_often = exchanges == INCREMENT_SECONDS / PROPAGATION_SECONDS
    return counter.increments == INCREMENTS and is_as_often


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """A simulated cell in the names of a real one; figures that it does not have are None."""

    nodes: int
    overlay: str = OVERLAY
    synchronization: str
    simulated: bool = True
    speedup: float = 1.0
    """Virtual time is not compressed."""
    increments: int
    """Of each node, as they were simulated. Bytes are of as many as are published: those that are
    missing are taken to be as the intervals after the first minute."""
    converged: bool = True
    """A simulation that does not end with equal counters, or with wrong ones, has no result."""
    value: int
    increments_sum: int
    bytes_payload: int
    bytes_frames: int
    bytes_tcp: int | None = None
    seconds_to_ready: float | None = None
    seconds_to_joined: float | None = None
    seconds_running: float | None = None
    seconds_to_converge: float
    intervals_to_converge: float

    @property
    def is_extrapolated(self) -> bool:
        """Whether fewer increments were simulated than its bytes are of."""
        return self.increments < INCREMENTS

    @property
    def label(self) -> str:
        """The mark that distinguishes it from a real cell."""
        if self.is_extrapolated:
            return f"simulated, {self.increments} of {INCREMENTS} increments"
        return "simulated"


def simulated(row: Row) -> Simulated:
    """The cell of a row of `make simulate`."""
    counted = row.nodes * row.increments
    return Simulated(
        nodes=row.nodes,
        synchronization=row.mode.capitalize(),
        increments=row.increments,
        value=counted,
        increments_sum=counted,
        bytes_payload=round(row.payload * GIB),
        bytes_frames=round(row.frames * GIB),
        seconds_to_converge=row.seconds_to_converge,
        intervals_to_converge=round(row.seconds_to_converge / PROPAGATION_SECONDS, 3),
    )


def note(cells: Iterable[Simulated]) -> str:
    """A note where such cells are shown; empty where there are none."""
    extrapolated = [cell.is_extrapolated for cell in cells]
    text = " What is simulated is in real time"
    if any(extrapolated):
        return (
            f"{text}; where fewer increments were simulated, the rest are taken to be as the "
            "intervals after the first minute."
        )
    return f"{text}." if extrapolated else ""


def load(file: Path | None) -> list[Simulated]:
    """The simulated ad counters of a `simulate.json`; none without one.

    Raises SimulatedError where it is something else.
    """
    if file is None:
        return []
    try:
        cells = [Cell(**cell) for cell in json.loads(file.read_text())["cells"]]
        return [simulated(row) for row in rows(cells)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SimulatedError(
            f"{file} is no result of `make simulate` ({type(error).__name__}: {error}): leave "
            "--simulated out, or run that first"
        ) from error
