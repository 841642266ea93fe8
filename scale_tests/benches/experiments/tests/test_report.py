"""The report: every figure and its circumstances, as Markdown and as HTML of one file."""

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.experiments import pictures, report
from scale_tests.benches.experiments.cli import BENCH
from scale_tests.benches.experiments.comparison import Simulated
from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.benches.experiments.tests.cells import experiment, result, simulated_cell
from scale_tests.measure import document
from scale_tests.measure.bench import Session
from scale_tests.measure.cells import Rest, Result


def _write(
    chosen: Experiment,
    results: Sequence[Result],
    directory: Path,
    *,
    simulated: Sequence[Simulated] = (),
    left_out: Mapping[str, str] | None = None,
) -> Path:
    found = report.Report(
        experiment=chosen,
        results=results,
        rows=simulated,
        left_out=left_out or {},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "RESULTS", directory)
        report.conclude(Session(bench=BENCH, options=Namespace(out=directory)), found)
    return directory


def _page(chosen: Experiment, results: Sequence[Result], directory: Path, **more: Any) -> str:
    return (_write(chosen, results, directory, **more) / "README.md").read_text()


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without pictures, which take their time."""
    monkeypatch.setattr(pictures, "PICTURES", ())


def _json(written: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((written / "scale.json").read_text())
    return found


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report")
    chosen = experiment(trials=2)
    points = chosen.points()
    results = [result(point) for point in points[:-1]]
    results.append(result(points[-1], converged=False, error="StalledError: stood still"))
    return _write(chosen, results, directory / "run", simulated=[simulated_cell()])


def test_scripts_find_every_cell_and_the_simulated_ones_marked(written: Path) -> None:
    measured = _json(written)
    cells = measured["cells"]
    assert [cell["simulated"] for cell in cells] == [False] * 16 + [True]
    assert "members" not in cells[0]
    assert measured["meta"]["speedup_by_nodes"] == {"8": 30, "16": 30}
    assert {check["ok"] for check in measured["bars"]} == {True, False}


def test_a_simulated_cell_has_the_names_of_a_real_one(written: Path) -> None:
    real, *_, simulated = _json(written)["cells"]
    assert simulated["speedup"] == 1
    assert (simulated["increments"], simulated["bytes_tcp"]) == (9, None)
    assert simulated["value"] == simulated["increments_sum"] == 9 * 1024
    assert (simulated["seconds_to_converge"], simulated["intervals_to_converge"]) == (9, 1.8)
    assert simulated.keys() - real.keys() == {"increments"}


def test_the_time_compression_is_in_every_table_and_caption(written: Path) -> None:
    text = (written / "README.md").read_text()
    assert text.count("Time compression 30") >= 4 + len(pictures.PICTURES)
    for picture in pictures.PICTURES:
        svg = (written / "pictures" / f"{picture.name}.svg").read_text()
        assert "time compression 30" in svg, picture.name


def test_simulated_cells_are_marked_with_their_share(written: Path) -> None:
    assert "simulated" in (written / "pictures" / "transmission.svg").read_text()
    text = (written / "README.md").read_text()
    assert "| HyParView | Tree | 1,024 | simulated, 9 of 180 increments |" in text
    assert "What is simulated is in real time; where fewer increments were simulated" in text


@pytest.mark.usefixtures("undrawn")
def test_a_whole_simulation_is_not_extrapolated(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8])
    cells = [result(point) for point in chosen.points()]
    text = _page(chosen, cells, tmp_path, simulated=[simulated_cell(increments=180)])
    assert "| 1,024 | simulated |" in text
    assert "fewer increments" not in text


@pytest.mark.usefixtures("undrawn")
def test_simulated_cells_stand_next_to_no_other_workload(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8], adCounter={"increments": 40})
    cells = [result(point) for point in chosen.points()]
    assert "simulated" not in _page(chosen, cells, tmp_path, simulated=[simulated_cell()])


def test_the_page_needs_no_other_file(written: Path) -> None:
    page = (written / "report.html").read_text()
    assert page.count("<svg") == len(pictures.PICTURES)
    assert "<img" not in page
    assert "<?xml" not in page


def test_a_cell_that_failed_is_named_with_its_reason(written: Path) -> None:
    text = (written / "README.md").read_text()
    assert "ClientServer servers 2, Tree, 16 nodes, trial 2: StalledError: stood still" in text
    assert "MISSED" in text


@pytest.mark.usefixtures("undrawn")
def test_leftovers_of_a_deletion_are_reported(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8], synchronizations=["State"], overlays=["HyParView"])
    cell = result(chosen.points()[0], left=["pod/ads-3"])
    assert "HyParView, State, 8 nodes, trial 1: pod/ads-3" in _page(chosen, [cell], tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_a_cell_that_was_not_run_is_listed_with_the_reason(tmp_path: Path) -> None:
    chosen = experiment()
    points = chosen.points()
    reasons = {point.slug: "there is no room" for point in points if point.nodes == 16}
    written = _write(chosen, [result(points[0])], tmp_path, left_out=reasons)
    text = (tmp_path / "README.md").read_text()
    assert "1 of 8 cells, every one a PartisanCluster" in text
    assert "| HyParView | State, Tree | 16 | there is no room |" in text
    assert "| HyParView | Tree | 8 | the run has not reached it" in text
    missing = _json(written)["meta"]["not_run"]
    assert len(missing) == 7
    assert missing[-1] == {
        "nodes": 16,
        "overlay": "ClientServer servers 2",
        "synchronization": "Tree",
        "trial": 1,
        "reason": "there is no room",
    }


@pytest.mark.usefixtures("undrawn")
def test_a_threshold_of_which_no_cell_was_run_is_on_the_page(tmp_path: Path) -> None:
    threshold = {"figure": "bytes_payload", "most": "1GiB", "nodes": 1024}
    chosen = experiment(sizes=[8, 1024], thresholds=[threshold])
    cells = [result(point) for point in chosen.points() if point.nodes == 8]
    text = _page(chosen, cells, tmp_path)
    assert "| bytes_payload (1,024 nodes) | - | <= 1 GiB | not run |" in text


@pytest.mark.usefixtures("undrawn")
def test_a_cell_that_took_longer_than_it_counts_is_named(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8], synchronizations=["State"], overlays=["HyParView"])
    cell = result(chosen.points()[0], seconds_running=120.0, seconds_to_converge=60.0)
    assert "HyParView, State, 8 nodes (2.0 times)" in _page(chosen, [cell], tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_convergence_is_given_in_propagation_intervals_too(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8], synchronizations=["State"], overlays=["HyParView"], speedup=10)
    cell = result(chosen.points()[0], seconds_running=183.0, seconds_to_converge=3.0)
    assert "| 183.0 | 3.0 | 6.0 | 1.02 |" in _page(chosen, [cell], tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_the_machine_at_rest_has_a_table_where_it_was_watched(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8], synchronizations=["Tree"])
    rest = Rest(seconds=60, busy=0.42, memory_bytes=3 << 29, swapped_bytes=1 << 29)
    cells = [result(point, at_rest=rest) for point in chosen.points()]
    assert "| 42 | 1.5 | 0.5 | 60 |" in _page(chosen, cells, tmp_path)


def test_aggregate_is_labelled_as_carrying_less(tmp_path: Path) -> None:
    chosen = experiment(sizes=[8], synchronizations=["State", "Aggregate"])
    cells = [result(point) for point in chosen.points()]
    less = "Aggregate carries less information"
    assert _page(chosen, cells, tmp_path).count(less) >= 1 + len(pictures.PICTURES)
    states = [cell for cell in cells if cell.synchronization == "State"]
    assert less not in _page(chosen, states, tmp_path)


def test_a_run_of_which_nothing_converged_has_a_report_without_pictures(
    tmp_path: Path,
) -> None:
    chosen = experiment(sizes=[8], synchronizations=["State"], overlays=["HyParView"])
    _write(chosen, [result(chosen.points()[0], converged=False)], tmp_path)
    assert "<svg" not in (tmp_path / "report.html").read_text()
