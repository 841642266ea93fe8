"""The plan of the measurement, and the checks of its figures."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.control_plane import report
from scale_tests.benches.control_plane.cli import plan
from scale_tests.cluster.kwok.startup import Startup
from scale_tests.measure.drawing import draw
from scale_tests.measure.kwok.experiment import Scenario
from scale_tests.measure.spread import Cell

STARTUP = Startup(
    pods=100, p50_seconds=0.2, p99_seconds=1.5, creator_requests=230, allowed_seconds=10.0
)


def cell(pods: int = 100, clusters: int = 1, **changes: Mapping[str, Any] | list[float]) -> Cell:
    found: Cell = {
        **asdict(Scenario(clusters=clusters, pods=pods, rest_seconds=75.0, default_limits=True)),
        "ready_seconds": [10.5],
        "startup": asdict(STARTUP),
        "forming": {"cpu_seconds": 3.0},
        "at_rest": {"cpu_seconds": 7.5, "seconds": 75.0, "calls": {"get": 10, "list": 5}},
        "peak_memory_bytes": 100 << 20,
    }
    for key, value in changes.items():
        found[key] = {**found[key], **value} if isinstance(value, Mapping) else value
    return found


def held(*cells: Cell) -> list[bool | None]:
    return [check.ok for check in report.checks(cells)]


def test_limits_and_starts_hold() -> None:
    assert held(cell()) == [True, True]


def test_each_target_can_be_missed() -> None:
    assert held(cell(startup={"p99_seconds": 5.1})) == [False, True]
    assert held(cell(startup={"p99_seconds": None})) == [False, True]
    assert held(cell(ready_seconds=[11.1])) == [True, False]


def test_the_limits_apply_to_the_largest_single_cluster() -> None:
    small = cell(pods=10, ready_seconds=[99.0])
    many = cell(clusters=20, ready_seconds=[99.0])
    assert held(small, cell(), many) == [True] * 4


def test_figures_are_per_second_of_rest() -> None:
    assert report.calls_per_second(cell()) == pytest.approx(0.2)
    assert report.cpu_percent(cell()) == pytest.approx(10.0)


@pytest.mark.parametrize("quick", [True, False])
def test_controllers_are_at_kubernetes_own_limits(quick: bool) -> None:
    scenarios = plan(quick)
    assert all(scenario.default_limits for scenario in scenarios)
    assert {scenario.clusters == 1 for scenario in scenarios} == {True, False}


def test_table_and_picture_say_that_pods_are_simulated(tmp_path: Path) -> None:
    assert "simulated pods" in str(report.tables([cell()]))
    (drawn,) = draw([report.PICTURE], [cell(), cell(pods=200)], tmp_path)
    assert "simulated" in drawn.file.read_text()
    assert draw([report.PICTURE], [], tmp_path) == []
