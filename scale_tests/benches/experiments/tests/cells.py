"""Cells for tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from scale_tests.benches.experiments.comparison import Simulated, simulated
from scale_tests.benches.experiments.experiment import Experiment, Point
from scale_tests.measure.cells import Result
from scale_tests.measure.synchronization import Row
from scale_tests.measure.tests import cells

DOCUMENT: dict[str, Any] = {
    "name": "small",
    "title": "A small experiment",
    "sizes": [16, 8],
    "overlays": ["HyParView", {"kind": "ClientServer", "clientServer": {"servers": 2}}],
    "synchronizations": ["State", "Tree"],
    "speedup": 30,
}


def experiment(**changes: Any) -> Experiment:
    """A small experiment, with some fields of its file changed."""
    return Experiment.model_validate({**DOCUMENT, **changes})


def result(point: Point, **changes: Any) -> Result:
    """A cell of this point that went well."""
    return cells.result(
        **{
            "nodes": point.nodes,
            "overlay": point.overlay.name,
            "synchronization": point.synchronization,
            "speedup": point.speedup,
            "trial": point.trial,
            "seed": point.seed,
            "threshold": point.threshold,
            "config": point.manifest(),
            **changes,
        }
    )


def simulated_cell(**changes: Any) -> Simulated:
    """A simulated cell, of which 9 increments of each node were simulated."""
    row = Row(
        mode="tree",
        nodes=1024,
        increments=9,
        payload=0.5,
        control=0.1,
        frames=0.7,
        seconds_behind=1.0,
        seconds_to_converge=9.0,
    )
    return simulated(replace(row, **changes))


def write(directory: Path, text: str) -> Path:
    """A file with an experiment."""
    file = directory / "small.yaml"
    file.write_text(text)
    return file
