"""The report: every figure and its circumstances, as Markdown and as HTML of one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scale_tests.experiments import pictures, report, simulated
from scale_tests.experiments.report import Report
from scale_tests.experiments.result import Rest
from scale_tests.experiments.simulated import SimulatedError
from scale_tests.experiments.tests.cells import experiment, result
from scale_tests.simulate.synchronization import Row

ROW = Row(
    mode="tree",
    nodes=1024,
    increments=180,
    payload=0.5,
    control=0.1,
    frames=0.7,
    seconds_behind=1.0,
    seconds_to_converge=9.0,
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Report:
    directory = tmp_path_factory.mktemp("report")
    chosen = experiment(trials=2)
    points = chosen.points()
    results = [result(point) for point in points[:-1]]
    results.append(result(points[-1], converged=False, error="StalledError: stood still"))
    return report.write(chosen, results, [ROW], directory / "run", latest=directory)


def test_scripts_find_every_cell_and_the_simulated_ones_marked(written: Report) -> None:
    measured = json.loads((written.directory / "scale.json").read_text())
    cells = measured["cells"]
    assert [cell["simulated"] for cell in cells] == [False] * 16 + [True]
    assert cells[-1]["speedup"] == 1
    assert "members" not in cells[0]
    assert measured["meta"]["speedup"] == 30
    assert {bar["ok"] for bar in measured["bars"]} == {True, False}


def test_the_speedup_is_in_every_table_and_caption(written: Report) -> None:
    text = (written.directory / "README.md").read_text()
    assert text.count("Speedup 30") >= 4 + len(pictures.PICTURES)
    for picture in pictures.PICTURES:
        svg = (written.directory / "pictures" / f"{picture.name}.svg").read_text()
        assert "speedup 30" in svg, picture.name


def test_what_is_simulated_says_so(written: Report) -> None:
    assert "simulated" in (written.directory / "pictures" / "transmission.svg").read_text()
    assert (
        "| HyParView | Tree | 1,024 | simulated |" in (written.directory / "README.md").read_text()
    )


def test_the_page_needs_nothing_beside_itself(written: Report) -> None:
    page = (written.directory / "report.html").read_text()
    assert page.count("<svg") == len(pictures.PICTURES)
    assert "<img" not in page
    assert "<?xml" not in page


def test_a_cell_that_failed_is_named_with_its_reason(written: Report) -> None:
    text = (written.directory / "README.md").read_text()
    assert "ClientServer servers 2, Tree, 16 nodes, trial 2: StalledError: stood still" in text
    assert "MISSED" in text


def test_a_cell_that_took_longer_than_it_counts_is_named(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8], synchronizations=["State"], overlays=["HyParView"])
    cell = result(chosen.points()[0], seconds_running=120.0, seconds_to_converge=60.0)
    report.write(chosen, [cell], [], tmp_path / "run", latest=tmp_path)
    text = (tmp_path / "run" / "README.md").read_text()
    assert "HyParView, State, 8 nodes (2.0 times)" in text


def test_the_machine_at_rest_has_a_table_where_it_was_watched(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8], synchronizations=["Tree"])
    rest = Rest(seconds=60, busy=0.42, memory_bytes=3 << 29, swapped_bytes=1 << 29)
    cells = [result(point, at_rest=rest) for point in chosen.points()]
    report.write(chosen, cells, [], tmp_path, latest=tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "| 42 | 1.5 | 0.5 | 60 |" in page


def test_aggregate_is_labelled_as_carrying_less(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8], synchronizations=["Aggregate"], overlays=["HyParView"])
    report.write(chosen, [result(chosen.points()[0])], [], tmp_path / "run", latest=tmp_path)
    text = (tmp_path / "run" / "README.md").read_text()
    assert text.count("Aggregate carries less information") >= 1 + len(pictures.PICTURES)


def test_a_run_of_which_nothing_converged_has_a_report_without_pictures(
    tmp_path: Path,
) -> None:
    chosen = experiment(sizes=[8], synchronizations=["State"], overlays=["HyParView"])
    cells = [result(chosen.points()[0], converged=False)]
    report.write(chosen, cells, [], tmp_path / "run", latest=tmp_path)
    assert "<svg" not in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("content", ["", "[]", '{"cells": [{"a": 1}]}'])
def test_a_file_that_nobody_simulated_is_refused(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "simulate.json"
    file.write_text(content)
    with pytest.raises(SimulatedError, match="make simulate"):
        simulated.load(file)
