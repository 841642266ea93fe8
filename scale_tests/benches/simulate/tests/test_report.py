"""The report of a run's lines: cells with the papers' values, checks, pictures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.simulate import curves, faults, pictures, published, report
from scale_tests.benches.simulate.plan import Job, plan
from scale_tests.benches.simulate.runner import Outcome, outcome
from scale_tests.benches.simulate.tests.conftest import Conclude
from scale_tests.host.documents import data_of
from scale_tests.host.units import GIB
from scale_tests.measure import synchronization
from scale_tests.measure.figure import Cell

FINISHED = {"finished": "x", "seconds": 12.5, "cpu_seconds": 11.0, "otp": "27"}


def line(experiment: str, overlay: str, parameter: str | float, value: float) -> dict[str, Any]:
    return {
        "experiment": experiment,
        "overlay": overlay,
        "nodes": 10_000,
        "parameter": parameter,
        "value": value,
    }


def hyparview(*lines: dict[str, Any], nodes: int = 10_000) -> Outcome:
    return outcome(Job(experiment="hyparview", nodes=nodes, seed=7), [*lines, FINISHED])


def figures_of(done: Outcome) -> list[Cell]:
    return report.Report([done]).figures


def test_a_cell_carries_the_papers_value_and_is_silent_where_it_agrees() -> None:
    [cell] = figures_of(hyparview(line("reliability", "hyparview", 80, 99.9)))
    assert (cell.value, cell.paper_value, cell.explanation, cell.seed) == (99.9, 100, None, 7)


def test_a_difference_is_explained() -> None:
    [cell] = figures_of(hyparview(line("shape", "hyparview", "clustering_coefficient", 0.005)))
    assert cell.explanation == published.EXPERIMENTS["shape"]["hyparview"]["why"]


def test_a_difference_at_another_size_says_so() -> None:
    small = {**line("healing", "cyclon", 10, 4), "nodes": 1000}
    [cell] = figures_of(hyparview(small, nodes=1000))
    assert cell.explanation is not None
    assert cell.explanation.startswith(published.OTHER_SIZE)


def test_figures_without_a_published_value_are_not_compared() -> None:
    [cell] = figures_of(hyparview(line("churn", "kill_10", "killed", 1e3)))
    assert cell.paper_value is None
    assert cell.explanation is None


def test_every_published_difference_has_an_explanation() -> None:
    for overlays in published.EXPERIMENTS.values():
        found = {name: own for name, own in overlays.items() if name not in ("tolerance", "eager")}
        assert all("why" in own for own in found.values())


def test_checks_are_of_the_measured_figures_only() -> None:
    done = hyparview(line("reliability", "hyparview", 80, 97.0))
    held = {check.name: check.ok for check in report.Report([done]).checks(())}
    assert held == {
        "HyParView: reliability after 80 % failures": False,
        "CPU seconds for HyParView's experiment at 10,000 nodes": True,
    }


def test_the_document_has_meta_cells_and_bars(conclude: Conclude) -> None:
    directory = conclude(hyparview(line("reliability", "hyparview", 80, 100.0)), quick=True)
    document = json.loads((directory / "simulate.json").read_text())
    assert document["meta"]["quick"] is True
    assert document["meta"]["seed"] == 7
    assert document["meta"]["versions"]["otp"] == "25"
    assert document["cells"][0]["paper_value"] == 100
    assert all(check["ok"] for check in document["bars"])
    assert "`QUICK=1 python -m scale_tests simulate run" in (directory / "README.md").read_text()


def test_pictures_are_titled_simulated(tmp_path: Path) -> None:
    lines = [line("reliability", "hyparview", f, 100 - f / 10) for f in (30, 80)]
    lines += [line("healing", "cyclon", 10, 40), line("in_degree", "scamp", 5, 90.0)]
    lines += [line("shape", "scamp", "max_hops", 14), line("view_size_distribution", "scamp", 5, 9)]
    lines += [line("link_cost", "xbot", 1, 30.5), line("link_cost", "hyparview", 1, 40.5)]
    lines += [line("relative_message_redundancy", "plumtree", 1, 3.0)]
    lines += [line("last_delivery_hop", "plumtree", 1, 9), line("recovery_80", "hyparview", 1, 9)]
    lines += transmission("state", 32) + transmission("state", 64)
    lines += [line("churn_reach", "kill_50", 0.05, 90.0), line("churn_reach", "churn", 9, 100.0)]
    lines += [line("churn_behind_delta", "partition", 9, 12.0)]
    lines += grown(128) + grown(100_000)
    files = [picture.file for picture in pictures.draw(figures_of(hyparview(*lines)), tmp_path)]
    assert [file.stem for file in files] == [plot.name for plot in pictures.PLOTS]
    for file in files:
        assert "Simulated: " in file.read_text()


def transmission(mode: str, nodes: int, increments: int = 180) -> list[dict[str, Any]]:
    """Of a run that sends 10 GiB in its first minute, 1 per increment after, and 2 in the end."""
    counted = 10 + increments - 6
    values = {"increments": increments, "warm": 6, "seconds_behind": 5, "seconds_to_converge": 9}
    for name in ("payload_bytes", "control_bytes", "frame_bytes"):
        values |= {name: (counted + 2) << 30, f"counted_{name}": counted << 30}
        values |= {f"warm_{name}": 10 << 30}
    return [
        {**line("synchronization", mode, parameter, value), "nodes": nodes}
        for parameter, value in values.items()
    ]


@pytest.mark.parametrize("increments", [180, 18])
def test_a_tenth_of_a_run_stands_for_the_whole(increments: int) -> None:
    lines = transmission("delta", 1024, increments)
    figures = figures_of(hyparview(*lines, nodes=1024))
    [row] = synchronization.rows(figures)
    assert (row.payload, row.published, row.increments) == (186, 16.0, increments)
    [bar] = synchronization.checks([row])
    assert not bar.ok


def test_the_least_is_a_megabyte_at_the_papers_size() -> None:
    assert 0.9e6 < synchronization.least(1024) * GIB < 1.1e6


def test_quick_plans_are_a_tenth() -> None:
    full = plan(quick=False, seed=3)
    quick = plan(quick=True, seed=3)
    # Five are the fewest: the ring's campaigns have no more.
    tenths = [max(job.nodes // 10, min(job.nodes, 5)) for job in full]
    assert tenths == [job.nodes for job in quick]
    assert {job.seed for job in quick} == {3}


def test_larger_sizes_are_left_out() -> None:
    jobs = plan(quick=False, seed=1, only=["scale_curves"], most=1024)
    assert [job.nodes for job in jobs] == [1024, 128]
    with pytest.raises(ValueError, match="nothing has so few nodes as 2: raise --most"):
        plan(quick=True, seed=1, most=2)


def test_a_wrong_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no experiment hyperview: there are burst, .*, cyclon"):
        plan(quick=True, seed=1, only=["hyperview"])


def test_the_arguments_are_the_scripts() -> None:
    arguments = Job(experiment="scamp", nodes=5).arguments()
    assert arguments[:2] == ["scamp", "nodes=5"]
    assert "cycles=50" in arguments


def grown(nodes: int, **changes: float) -> list[dict[str, Any]]:
    """Of an overlay of some size; `changes` are of its figures."""
    values = {
        "join_seconds_median": 0.08,
        "join_seconds_most": 0.4,
        "whole_seconds": 0.1,
        "mean_degree": 5.2,
        "least_degree": 3,
        "most_degree": 6,
        "components": 1,
        "forming_bytes_per_node": 9600,
        "bytes_per_node_second": 750,
        "messages_per_node_second": 4.5,
        "broadcast_reach": 100.0,
        "broadcast_hops": 12,
        "broadcast_seconds": 0.11,
        "heap_bytes_per_node": 7000,
        "events": 1e6,
        "events_per_cpu_second": 1e5,
    }
    return [
        {**line(curves.EXPERIMENT, "hyparview", parameter, value), "nodes": nodes}
        for parameter, value in {**values, **changes}.items()
    ]


def test_sizes_are_rows_the_small_ones_first() -> None:
    figures = figures_of(hyparview(*grown(100_000), *grown(128, broadcast_hops=7)))
    rows = curves.rows(figures)
    assert [(row["nodes"], row["broadcast_hops"]) for row in rows] == [(128, 7), (100_000, 12)]
    table = curves.table(rows)
    assert table.head == ["", "128 nodes", "100,000 nodes"]
    assert ["a broadcast's last hop", "7", "12"] in table.rows


def test_a_large_ring_loses_nothing_and_moves_no_more_than_it_must() -> None:
    forms = data_of(curves.__file__)["ring"].values()
    names = {name for form in forms for name in re.findall(r"{(\w+)", form)}
    values = dict.fromkeys([*names, "misplaced", "unsettled"], 0) | {
        "minimum": 4,
        "grow_moved": 4,
        "shrink_moved": 5,
        "violations": 2,
    }
    lines = [line(curves.RING, "key_value_store", name, values[name]) for name in values]
    figures = figures_of(hyparview(*lines))
    assert [(check.value, check.ok) for check in curves.ring_checks(figures)] == [
        (2, False),
        (1, False),
    ]
    assert ["growth: indexes moved, and the least possible", "4, 4"] in curves.ring(figures).rows
    assert curves.ring([]).rows == []


def test_every_size_must_be_one_component_that_broadcasts_reach() -> None:
    figures = figures_of(hyparview(*grown(128), *grown(1024, components=2, broadcast_reach=99)))
    assert [(check.value, check.ok) for check in curves.checks(curves.rows(figures))] == [
        (1, True),
        (100.0, True),
        (2, False),
        (99, False),
    ]


@pytest.mark.parametrize("counted", [False, True])
def test_a_run_in_which_clusters_grew_has_a_page(conclude: Conclude, counted: bool) -> None:
    lines = grown(128) + grown(100_000)
    lines += transmission("aggregate", 10_000, 12) if counted else []
    text = (conclude(hyparview(*lines)) / "README.md").read_text()
    assert "|  | 128 nodes | 100,000 nodes |" in text
    assert "(scale_curves.svg)" in text
    assert ("| aggregate | 10,000 | 12 |" in text) == counted


def test_overlays_are_compared_by_size_and_one_that_is_not_repaired_says_so(
    conclude: Conclude,
) -> None:
    values = {
        **{"mean_degree": 5.9, "most_degree": 127, "forming_bytes_per_node": 183},
        **{"bytes_per_node_second": 23, "broadcast_reach": 100, "broadcast_hops": 6},
        **{"broadcast_seconds": 0.06, "reach_at_once": 99.5},
    }
    repaired = {**values, "repair_seconds": 0.1, "reach_repaired": 100}
    lines = [
        {**line(curves.COMPARED, overlay, parameter, value), "nodes": nodes}
        for overlay, nodes, found in (
            ("hyparview", 128, repaired),
            ("publish_subscribe", 8, values),
        )
        for parameter, value in found.items()
    ]
    done = outcome(Job(experiment=curves.COMPARED, nodes=128), [*lines, FINISHED])
    text = (conclude(done) / "README.md").read_text()
    brokered = (
        "| PublishSubscribe | 8 | 5.9 | 127 | 183 | 23 | 100 | 6 | 0.06 | 99.5 | never | never |"
    )
    assert brokered + "\n| HyParView | 128 |" in text
    assert text.count("| 99.5 | 0.1 | 100 |") == 1


def test_a_page_says_how_far_the_sizes_of_its_run_went(conclude: Conclude) -> None:
    done = outcome(Job(experiment=curves.EXPERIMENT, nodes=128), [*grown(128), FINISHED])
    text = (conclude(done) / "README.md").read_text()
    assert "run --seed 1 --only scale_curves --most 128 --out DIRECTORY`" in text


def test_a_page_has_the_pictures_of_the_papers_experiments(conclude: Conclude) -> None:
    directory = conclude(hyparview(line("reliability", "hyparview", 80, 99.9)))
    text = (directory / "README.md").read_text()
    assert "(reliability.svg)" in text
    assert "## The overlay" not in text


def fault_lines(*, healed: bool, counted: float) -> list[dict[str, Any]]:
    overlay = {"least_reach": 90.0, **({"one_component": 0.1} if healed else {})}
    counter = {"increments": 10.0, "value": counted, "lost": 2.0}
    return [
        *(line("churn", "kill_50", name, value) for name, value in overlay.items()),
        *(line("churn_counter_tree", "kill_50", name, value) for name, value in counter.items()),
        # Without a fault there is traffic alone.
        line("churn_counter_tree", "calm", "frame_bytes_per_node_second", 60.0),
    ]


def test_faults_must_end_in_one_component_and_an_exact_count() -> None:
    good = faults.checks(figures_of(hyparview(*fault_lines(healed=True, counted=8))))
    assert [(check.value, check.ok) for check in good] == [("1 of 1", True), ("1 of 1", True)]
    bad = faults.checks(figures_of(hyparview(*fault_lines(healed=False, counted=9))))
    assert [(check.value, check.ok) for check in bad] == [("0 of 1", False), ("0 of 1", False)]


def test_without_faults_there_is_nothing_to_hold() -> None:
    assert faults.checks([]) == []
