"""Results of `make simulate`, in the names of real cells."""

import json
from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.experiments import comparison
from scale_tests.benches.experiments.comparison import SimulatedError

FIGURES = {
    "increments": 9,
    "warm": 6,
    "payload_bytes": 1000,
    "warm_payload_bytes": 400,
    "counted_payload_bytes": 1000,
    "control_bytes": 0,
    "warm_control_bytes": 0,
    "counted_control_bytes": 0,
    "frame_bytes": 2000,
    "warm_frame_bytes": 800,
    "counted_frame_bytes": 2000,
    "seconds_behind": 1.0,
    "seconds_to_converge": 10.0,
}


def test_a_cell_is_of_a_whole_run_and_says_how_much_was_simulated(tmp_path: Path) -> None:
    file = tmp_path / "simulate.json"
    cells = [
        {
            "experiment": "synchronization",
            "overlay": "state",
            "nodes": 32,
            "parameter": name,
            "value": value,
            "seed": 1,
            "paper_value": None,
            "explanation": None,
        }
        for name, value in FIGURES.items()
    ]
    file.write_text(json.dumps({"cells": cells}))
    (cell,) = comparison.load(file)
    assert (cell.overlay, cell.synchronization, cell.nodes) == ("HyParView", "State", 32)
    assert cell.bytes_payload == 1000 + 171 * 200
    assert cell.bytes_frames == 2 * cell.bytes_payload
    assert (cell.value, cell.intervals_to_converge) == (9 * 32, 2)
    assert cell.label == "simulated, 9 of 180 increments"


@pytest.mark.parametrize("content", ["", "[]", '{"cells": [{"a": 1}]}'])
def test_a_file_that_is_no_simulation_is_refused(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "simulate.json"
    file.write_text(content)
    with pytest.raises(SimulatedError, match="make simulate"):
        comparison.load(file)
