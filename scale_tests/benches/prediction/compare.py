"""One real cell beside what was predicted for its manifest.

What the prediction is given of the cell is its manifest, and how fast its pods started: that is the
speed of the machines, which no simulation of nodes knows. All else is predicted.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from partisan_operator.predict import Assumptions, Prediction, manifest, predict
from partisan_operator.predict.simulator import Simulator

from scale_tests.measure.bars import Bar
from scale_tests.measure.cells import SLOW, Result
from scale_tests.measure.cells import result as read

MOST_PERCENT = 15.0
"""By how much a figure that is held to something may be off."""

LATENCY_MS = (1, 1)
"""The least that the simulator has: pods of one machine are nearer than that."""


class CellError(ValueError):
    """A file holds no cell that could be compared."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of a cell, predicted and measured; None for what was not measured."""

    name: str
    unit: str
    predicted: float | None
    measured: float | None
    held: bool
    """Whether its error is held to `MOST_PERCENT`."""

    @property
    def error_percent(self) -> float | None:
        """By how much the prediction is off, of what was measured; above 0 where it is more."""
        if self.predicted is None or not self.measured:
            return None
        return 100 * (self.predicted - self.measured) / self.measured


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One cell with its figures."""

    nodes: int
    overlay: str
    synchronization: str
    speedup: float
    trial: int
    slowdown: float | None
    """How many times as long as counting takes the real run took: far above 1 the machine did not
    keep up, which no prediction of the protocols knows."""
    busy: float | None
    """The share of the machine's processors that nodes and control plane took over the real cell;
    None where the machine is not known."""
    prediction: Prediction
    figures: tuple[Figure, ...]

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.nodes:,} {self.overlay} {self.synchronization}"

    @property
    def is_held(self) -> bool:
        """Whether the machine kept up, so that the protocols decided how long the run took."""
        return self.slowdown is not None and self.slowdown <= SLOW

    def figure(self, name: str) -> Figure:
        """One of its figures. Raises KeyError."""
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise KeyError(name)

    def json(self) -> dict[str, Any]:
        """All of it, with the errors."""
        return {
            **{key: value for key, value in asdict(self).items() if key != "figures"},
            "is_held": self.is_held,
            "prediction": self.prediction.json(),
            "figures": [
                {**asdict(figure), "error_percent": figure.error_percent} for figure in self.figures
            ],
        }


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The cells of some runs, small ones first."""

    whole: list[Result]
    """Those that have come to their end, without faults."""
    others: list[Result]


def cells(paths: Iterable[Path]) -> Cells:
    """The cells of files and of runs' directories.

    Raises:
        CellError: a path holds none, or none of all has come to its end.
    """
    found: list[Result] = []
    for path in paths:
        files = [path] if path.is_file() else sorted(path.glob("**/cells/*.json"))
        if not files:
            raise CellError(f"{path} holds no cells: give a directory of `python -m scale_tests`")
        found += [_cell(file) for file in files]
    found.sort(key=lambda cell: (cell.nodes, cell.overlay, cell.synchronization, cell.trial))
    whole = [cell for cell in found if cell.converged and cell.error is None and not cell.faults]
    if not whole:
        raise CellError("no cell has converged without faults: there is nothing to compare with")
    return Cells(whole=whole, others=[cell for cell in found if cell not in whole])


def _cell(file: Path) -> Result:
    try:
        return read(json.loads(file.read_text()))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise CellError(f"{file} is no cell ({type(error).__name__}: {error})") from error


def compare(
    cell: Result,
    simulator: Simulator,
    *,
    seed: int,
    budget: float,
    timeout: float,
    tell: Callable[[str], None],
) -> Comparison:
    """Plans the cluster of a cell. Raises SimulatorError, ManifestError."""
    assumptions = Assumptions(
        seed=seed, latency_ms=LATENCY_MS, pods_per_second=pods_per_second(cell)
    )
    prediction = predict(
        manifest.cluster_of(cell.config),
        simulator,
        assumptions,
        budget=budget,
        timeout=timeout,
        progress=lambda line: tell(f"{cell.nodes} {cell.overlay} {cell.synchronization}: {line}"),
    )
    return beside(cell, prediction)


def beside(cell: Result, prediction: Prediction) -> Comparison:
    """A cell with its prediction."""
    joins = [
        member.seconds_to_joined - member.seconds_to_boot
        for member in cell.members
        if member.seconds_to_joined is not None and member.seconds_to_boot is not None
    ]

    def figure(
        name: str, unit: str, predicted: float | None, measured: float | None, *, held: bool = False
    ) -> Figure:
        return Figure(name=name, unit=unit, predicted=predicted, measured=measured, held=held)

    channels = [
        figure(
            f"frames on {name}",
            "bytes",
            prediction.channels[name].bytes if name in prediction.channels else 0.0,
            float(measured),
        )
        for name, measured in cell.bytes_frames_by_channel.items()
    ]
    running, converge = prediction.seconds_running, prediction.seconds_to_converge
    return Comparison(
        nodes=cell.nodes,
        overlay=cell.overlay,
        synchronization=cell.synchronization,
        speedup=cell.speedup,
        trial=cell.trial,
        slowdown=cell.slowdown,
        busy=_busy(cell),
        prediction=prediction,
        figures=(
            figure("payload", "bytes", prediction.bytes_payload, cell.bytes_payload, held=True),
            figure("frames", "bytes", prediction.bytes_frames, cell.bytes_frames, held=True),
            *channels,
            figure("start to convergence", "s", running, cell.seconds_running, held=True),
            figure("last count to convergence", "s", converge, cell.seconds_to_converge),
            figure("degree", "", prediction.degree_mean, cell.mean_degree),
            figure(
                "boot to joined, median",
                "s",
                prediction.join_seconds_median,
                statistics.median(joins) if joins else None,
            ),
            figure(
                "memory a node",
                "bytes",
                prediction.memory_bytes_per_node,
                cell.memory_bytes_per_node,
            ),
        ),
    )


def pods_per_second(cell: Result) -> float:
    """How fast the pods of a cell started, from the first to the last."""
    boots = [each.seconds_to_boot for each in cell.members if each.seconds_to_boot is not None]
    spread = max(boots) - min(boots) if len(boots) > 1 else 0.0
    return (len(boots) - 1) / spread if spread > 0 else Assumptions().pods_per_second


def _busy(cell: Result) -> float | None:
    """What the nodes and the control plane took of the processors, from the apply to the end."""
    if "cpus" not in cell.machine or cell.seconds_in_all <= 0:
        return None
    taken = sum(member.cpu_seconds for member in cell.members)
    taken += sum(part.cpu_seconds for part in cell.control_plane)
    return float(taken / cell.machine["cpus"] / cell.seconds_in_all)


def bars(comparisons: Sequence[Comparison]) -> list[Bar]:
    """That there is a cell of each size to be held to, and the worst error of each figure.

    Cells whose machine did not keep up are held to nothing.
    """
    held = [comparison for comparison in comparisons if comparison.is_held]
    sizes = {comparison.nodes for comparison in comparisons}
    covered = {comparison.nodes for comparison in held}
    worst: dict[str, tuple[float, Comparison]] = {}
    for comparison in held:
        for figure in comparison.figures:
            error = figure.error_percent
            if figure.held and error is not None:
                before = worst.get(figure.name)
                if before is None or abs(error) > abs(before[0]):
                    worst[figure.name] = (error, comparison)
    return [
        Bar(
            name="sizes of which there is a cell whose machine kept up",
            value=", ".join(f"{nodes:,}" for nodes in sorted(covered)) or "none",
            bar=", ".join(f"{nodes:,}" for nodes in sorted(sizes)),
            ok=covered == sizes,
        )
    ] + [
        Bar(
            name=f"{name}: predicted (simulated) off by at most, % ({comparison.name})",
            value=round(error, 1),
            bar=f"within {MOST_PERCENT:g} %",
            ok=abs(error) <= MOST_PERCENT,
        )
        for name, (error, comparison) in worst.items()
    ]
