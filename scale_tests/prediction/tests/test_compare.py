"""Predictions beside cells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from partisan_operator.plan import Assumptions, Prediction
from partisan_operator.plan.figures import Channel

from scale_tests.experiments.result import Result
from scale_tests.experiments.tests.cells import experiment, result
from scale_tests.prediction import pictures, report
from scale_tests.prediction.compare import (
    CellError,
    Comparison,
    Figure,
    bars,
    beside,
    cells,
    pods_per_second,
)

POINT = experiment().points()[0]


def cell() -> Result:
    return result(POINT)


def prediction(payload: float) -> Prediction:
    return Prediction(
        nodes=8,
        overlay="HyParView",
        synchronization="State",
        assumptions=Assumptions(),
        simulated_nodes=(8,),
        simulated_share=1.0,
        join_seconds_median=0.5,
        join_seconds_most=1.0,
        whole_seconds=1.0,
        degree_mean=5.0,
        degree_least=3,
        degree_most=6,
        counting_seconds=60.0,
        seconds_to_converge=2.2,
        overcounting_percent=1.0,
        bytes_payload=payload,
        channels={"gossip": Channel(messages=10, bytes=8 << 21)},
        forming_bytes_payload=0.0,
        forming_bytes_frames=0.0,
        overlay_bytes_per_second=1.0,
        memory_bytes_per_node=16e6,
    )


def figure(comparison: Comparison, name: str) -> Figure:
    return next(each for each in comparison.figures if each.name == name)


def test_errors_are_in_percent_of_what_was_measured() -> None:
    comparison = beside(cell(), prediction(1.1 * (8 << 20)))
    assert figure(comparison, "payload").error_percent == pytest.approx(10)
    assert figure(comparison, "frames").error_percent == pytest.approx(0)
    assert figure(comparison, "start to convergence").error_percent == pytest.approx(20 / 62)
    assert figure(comparison, "frames on gossip").predicted == 8 << 21


def test_the_worst_error_of_each_figure_is_held_to_the_bar() -> None:
    good, bad = beside(cell(), prediction(8 << 20)), beside(cell(), prediction(4 << 20))
    held = {bar.name.split(":")[0]: bar for bar in bars([good, bad])}
    assert held["payload"].value == -50
    assert not held["payload"].ok
    assert held["frames"].ok
    assert "degree" not in held


def test_what_was_not_measured_has_no_error() -> None:
    comparison = beside(replace(cell(), seconds_running=None), prediction(1.0))
    assert figure(comparison, "start to convergence").error_percent is None


def test_pods_start_as_fast_as_they_did() -> None:
    member = cell().members[0]
    members = tuple(replace(member, seconds_to_boot=float(second)) for second in (2, 3, 4, 8))
    assert pods_per_second(replace(cell(), members=members)) == 0.5
    assert pods_per_second(cell()) == Assumptions().pods_per_second


def test_only_cells_that_came_to_their_end_are_compared(tmp_path: Path) -> None:
    directory = tmp_path / "cells"
    directory.mkdir()
    with pytest.raises(CellError, match="holds no cells"):
        cells([tmp_path])
    failed = replace(cell(), converged=False)
    (directory / "a.json").write_text(json.dumps(failed.json()))
    with pytest.raises(CellError, match="no cell has converged"):
        cells([tmp_path])
    (directory / "b.json").write_text(json.dumps(cell().json()))
    assert [each.converged for each in cells([tmp_path])] == [True]
    (directory / "c.json").write_text("{}")
    with pytest.raises(CellError, match=r"c\.json is no cell"):
        cells([tmp_path])


def test_the_page_says_what_is_simulated(tmp_path: Path) -> None:
    comparisons = [beside(cell(), prediction(8 << 20))]
    files = pictures.draw(comparisons, tmp_path)
    assert all(file.exists() for file in files)
    text = report.written(comparisons, files[0], tmp_path)
    assert "predicted (simulated)" in text
    assert "payload *" in text
