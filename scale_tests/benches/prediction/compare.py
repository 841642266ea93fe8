"""One real cell with the prediction for its manifest.

The prediction gets the cell's manifest and the rate at which its pods started, which depends on the
machine and is not simulated. All else is predicted.
"""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from partisan_operator.predict import Assumptions, Prediction

from scale_tests.cluster.kube import Json
from scale_tests.measure.cells import SLOW, Result
from scale_tests.measure.cells import result as read
from scale_tests.measure.checks import Check

MOST_PERCENT = 15.0
"""The largest error of a figure with a target."""

HELD = ("payload", "frames", "start to convergence")
"""The figures with that target."""

LATENCY_MS = (1, 1)
"""The least that the simulator has: pods of one machine are nearer than that."""


UNITS = {"bytes": ("MB", 1e6, 3), "s": ("s", 1.0, 2), "": ("", 1.0, 2)}
"""Figures as they are shown: the unit, how many of theirs it is, and its decimals."""


class CellError(ValueError):
    """A file holds no cell that could be compared."""


@dataclass(frozen=True)
class Figure:
    """One figure of a cell, predicted and measured; None where it was not measured."""

    name: str
    unit: str
    predicted: float | None
    measured: float | None
    held: bool
    """Whether its error has a target."""

    @property
    def error_percent(self) -> float | None:
        """The error of the prediction, in percent of the measurement; above 0 where it is more."""
        if self.predicted is None or not self.measured:
            return None
        return 100 * (self.predicted - self.measured) / self.measured

    def shown(self) -> tuple[str, str, str]:
        """Prediction, measurement and error as people read them; empty where it has none."""
        _unit, scale, decimals = UNITS[self.unit]
        predicted, measured = (
            "" if value is None else f"{value / scale:,.{decimals}f}"
            for value in (self.predicted, self.measured)
        )
        error = self.error_percent
        return predicted, measured, "" if error is None else f"{error:+.1f}"


@dataclass(frozen=True)
class Comparison:
    """One cell with its prediction."""

    cell: Result
    prediction: Prediction

    @property
    def name(self) -> str:
        """The cell, in tables."""
        return f"{self.cell.nodes:,} {self.cell.overlay} {self.cell.synchronization}"

    @property
    def is_held(self) -> bool:
        """Whether the machine kept up, so that the protocols decided the time of the run."""
        return self.cell.slowdown is not None and self.cell.slowdown <= SLOW

    @property
    def busy(self) -> float | None:
        """The share of the processors that nodes and control plane used, from apply to end.

        None where the machine is not known.
        """
        cell = self.cell
        if "cpus" not in cell.machine or cell.seconds_in_all <= 0:
            return None
        used = sum(member.cpu_seconds for member in cell.members)
        used += sum(part.cpu_seconds for part in cell.control_plane)
        return float(used / cell.machine["cpus"] / cell.seconds_in_all)

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """All figures, by name."""
        cell, ours = self.cell, self.prediction
        joins = [
            member.seconds_to_joined - member.seconds_to_boot
            for member in cell.members
            if member.seconds_to_joined is not None and member.seconds_to_boot is not None
        ]
        sent = {name: channel.bytes for name, channel in ours.channels.items()}
        join = statistics.median(joins) if joins else None
        rows: tuple[tuple[str, str, float | None, float | None], ...] = (
            ("payload", "bytes", ours.bytes_payload, cell.bytes_payload),
            ("frames", "bytes", ours.bytes_frames, cell.bytes_frames),
            *(
                (f"frames on {name}", "bytes", sent.get(name, 0.0), float(measured))
                for name, measured in cell.bytes_frames_by_channel.items()
            ),
            ("start to convergence", "s", ours.seconds_running, cell.seconds_running),
            ("last count to convergence", "s", ours.seconds_to_converge, cell.seconds_to_converge),
            ("degree", "", ours.degree_mean, cell.mean_degree),
            ("boot to joined, median", "s", ours.join_seconds_median, join),
            ("memory a node", "bytes", ours.memory_bytes_per_node, cell.memory_bytes_per_node),
        )
        return {row[0]: Figure(*row, held=row[0] in HELD) for row in rows}

    def json(self) -> Json:
        """All of it, with the errors."""
        keys = ("nodes", "overlay", "synchronization", "speedup", "trial", "slowdown")
        return {
            **{key: getattr(self.cell, key) for key in keys},
            "busy": self.busy,
            "prediction": self.prediction.json(),
            "is_held": self.is_held,
            "figures": [
                asdict(figure) | {"error_percent": figure.error_percent}
                for figure in self.figures.values()
            ],
        }


def cells(paths: Iterable[Path]) -> tuple[list[Result], list[Result]]:
    """The cells of files and of runs' directories, small ones first.

    Those that are complete, without faults, and the others. Raises CellError where a path holds
    none, or none is complete.
    """
    found: list[Result] = []
    for path in paths:
        files = [path] if path.is_file() else sorted(path.glob("**/cells/*.json"))
        if not files:
            raise CellError(f"{path} holds no cells: give a directory of `python -m scale_tests`")
        found += map(_cell, files)
    found.sort(key=lambda cell: (cell.nodes, cell.overlay, cell.synchronization, cell.trial))
    whole = [cell for cell in found if cell.converged and cell.error is None and not cell.faults]
    if not whole:
        raise CellError("no cell has converged without faults: there is nothing to compare with")
    return whole, [cell for cell in found if cell not in whole]


def _cell(file: Path) -> Result:
    try:
        return read(json.loads(file.read_text()))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise CellError(f"{file} is no cell ({type(error).__name__}: {error})") from error


def pods_per_second(cell: Result) -> float:
    """The rate at which the pods of a cell started, from the first to the last."""
    boots = [each.seconds_to_boot for each in cell.members if each.seconds_to_boot is not None]
    spread = max(boots) - min(boots) if len(boots) > 1 else 0.0
    return (len(boots) - 1) / spread if spread > 0 else Assumptions().pods_per_second


def checks(comparisons: Sequence[Comparison]) -> list[Check]:
    """A cell with targets of each size, and the worst error of each figure.

    Cells whose machine did not keep up have no target.
    """

    def listed(sizes: set[int]) -> str:
        return ", ".join(f"{nodes:,}" for nodes in sorted(sizes)) or "none"

    held = [each for each in comparisons if each.is_held]
    sizes, covered = ({each.cell.nodes for each in some} for some in (comparisons, held))
    kept_up = Check(
        name="sizes of which there is a cell whose machine kept up",
        value=listed(covered),
        bar=listed(sizes),
        ok=covered == sizes,
    )
    found = [kept_up]
    for name in HELD:
        errors = [(each.figures[name].error_percent, each.name) for each in held]
        known = [(error, where) for error, where in errors if error is not None]
        if known:
            worst, where = max(known, key=lambda each: abs(each[0]))
            found.append(
                Check(
                    name=f"{name}: predicted (simulated) off by at most, % ({where})",
                    value=round(worst, 1),
                    bar=f"within {MOST_PERCENT:g} %",
                    ok=abs(worst) <= MOST_PERCENT,
                )
            )
    return found
