"""The checks of the figures."""

from pathlib import Path

from scale_tests.benches.formation import report
from scale_tests.cluster.fleet import Plan
from scale_tests.measure.drawing import draw
from scale_tests.measure.spread import Cell


def mesh(nodes: int, cpu_seconds: float, *, whole: bool = True) -> Cell:
    return {
        "experiment": "mesh",
        "nodes": nodes,
        "links": nodes * (nodes - 1) // 2,
        "whole": whole,
        "seconds": 1.0,
        "cpu_seconds": cpu_seconds,
    }


def held(cells: list[Cell]) -> list[bool | None]:
    return [check.ok for check in report.checks(cells)]


def test_a_mesh_may_cost_no_more_a_link_when_it_grows() -> None:
    assert held([mesh(4, 0.6), mesh(16, 11.9)]) == [True]
    assert held([mesh(4, 0.6), mesh(16, 12.1)]) == [False]
    assert held([mesh(4, 0.6), mesh(16, 1.0, whole=False)]) == [False]


def test_every_run_must_become_whole() -> None:
    run = {"experiment": "formation", "nodes": 64, "whole": True}
    assert held([run, run]) == [True]
    assert held([run, {**run, "whole": False}]) == [False]


def test_only_measured_figures_have_checks() -> None:
    assert report.checks([]) == []


def test_a_frozen_node_must_be_noticed_in_time() -> None:
    killed = {"experiment": "failure", "failure": "killed", "seconds": 60.0}
    assert held([killed]) == []
    assert held([{**killed, "failure": "frozen", "seconds": 14.0}]) == [True]
    assert held([{**killed, "failure": "frozen", "seconds": 15.1}]) == [False]


def test_the_picture_of_a_mesh(tmp_path: Path) -> None:
    (drawn,) = draw([report.PICTURE], [mesh(4, 0.6), mesh(8, 1.2)], tmp_path)
    assert drawn.file.name == "mesh.svg"
    assert "<svg" in drawn.file.read_text()


def test_the_first_node_is_the_seed() -> None:
    text = Plan(nodes=9).config()
    assert [f"fleet-{index}" in text for index in (0, 1)] == [True, False]
