"""Predictions compared with cells."""

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
from partisan_operator.predict import Assumptions, Prediction
from partisan_operator.predict.figures import Channel

from scale_tests.benches.prediction import report
from scale_tests.benches.prediction.cli import BENCH, conclude
from scale_tests.benches.prediction.compare import (
    CellError,
    Comparison,
    cells,
    checks,
    pods_per_second,
)
from scale_tests.measure import document
from scale_tests.measure.bench import Session
from scale_tests.measure.cells import Result
from scale_tests.measure.tests.cells import result


def cell() -> Result:
    return result()


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


def test_errors_are_in_percent_of_the_measurement() -> None:
    comparison = Comparison(cell(), prediction(1.1 * (8 << 20)))
    assert comparison.figures["payload"].error_percent == pytest.approx(10)
    assert comparison.figures["frames"].error_percent == pytest.approx(0)
    assert comparison.figures["start to convergence"].error_percent == pytest.approx(20 / 62)
    assert comparison.figures["frames on gossip"].predicted == 8 << 21


def test_the_target_applies_to_the_worst_error_of_each_figure() -> None:
    good, bad = Comparison(cell(), prediction(8 << 20)), Comparison(cell(), prediction(4 << 20))
    held = {check.name.split(":")[0]: check for check in checks([good, bad])}
    assert held["payload"].value == -50
    assert not held["payload"].ok
    assert held["frames"].ok
    assert "degree" not in held


def test_a_missing_measurement_has_no_error() -> None:
    comparison = Comparison(replace(cell(), seconds_running=None), prediction(1.0))
    assert comparison.figures["start to convergence"].error_percent is None


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
    whole, others = cells([tmp_path])
    assert [each.converged for each in whole] == [True]
    assert others == [failed]
    (directory / "c.json").write_text("{}")
    with pytest.raises(CellError, match=r"c\.json is no cell"):
        cells([tmp_path])


def slow() -> Comparison:
    """Of a run that took half as long again as its counting."""
    late = replace(cell(), seconds_running=90.0, seconds_to_converge=30.0)
    return Comparison(late, prediction(4 << 20))


def test_a_cell_whose_machine_did_not_keep_up_has_no_target() -> None:
    good = Comparison(cell(), prediction(8 << 20))
    assert (good.is_held, slow().is_held) == (True, False)
    held = {check.name.split(":")[0]: check for check in checks([good, slow()])}
    assert held["payload"].value == 0
    assert held["sizes of which there is a cell whose machine kept up"].ok


def test_a_size_without_a_cell_that_kept_up_misses_its_target() -> None:
    larger = Comparison(replace(slow().cell, nodes=16), slow().prediction)
    [sizes, *_] = checks([Comparison(cell(), prediction(8 << 20)), larger])
    assert (sizes.value, sizes.bar, sizes.ok) == ("8", "8, 16", False)
    [alone] = checks([slow()])
    assert (alone.value, alone.ok) == ("none", False)


def test_how_busy_the_processors_were_is_known_where_the_machine_is() -> None:
    assert slow().busy == pytest.approx((8 * 1.0 + 2.0) / 2 / 80)
    assert Comparison(replace(cell(), machine={}), prediction(1.0)).busy is None


def run(*comparisons: Comparison, others: list[Result]) -> report.Run:
    return report.Run(
        sources=[Path("scale")],
        comparisons=comparisons,
        others=others,
        seed=1,
    )


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(document, "RESULTS", tmp_path / "latest")
    return Session(bench=BENCH, options=Namespace(out=tmp_path / "out"), quick=False)


def test_the_page_has_every_cell_and_says_what_is_simulated(
    session: Session, tmp_path: Path
) -> None:
    failed = replace(cell(), converged=False, error="no pod was ready in time")
    made = run(Comparison(cell(), prediction(8 << 20)), slow(), others=[failed])
    out, latest = tmp_path / "out", tmp_path / "latest"
    conclude(session, made)
    text = (out / "README.md").read_text()
    assert "predicted (simulated)" in text
    assert "payload *" in text
    assert "1.50 times, 6 % of all processors" in text
    assert "no pod was ready in time" in text
    assert "![Predicted against measured](pictures/predicted.svg)" in text
    assert "<svg" in (out / "report.html").read_text()
    measured = json.loads((latest / "prediction.json").read_text())
    assert measured == json.loads((out / "prediction.json").read_text())
    assert [each["is_held"] for each in measured["cells"]] == [True, False]


def test_the_page_of_runs_that_all_kept_up_has_no_word_on_others(session: Session) -> None:
    made = run(Comparison(cell(), prediction(8 << 20)), others=[])
    conclude(session, made)
    text = (session.directory / "README.md").read_text()
    assert "did not keep up" not in text
    assert "not compared" not in text
