"""The plan of the measurement, and the checks of its figures."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.operator_bench import report
from scale_tests.benches.operator_bench.cli import plan
from scale_tests.cluster.kwok.clusters import states
from scale_tests.cluster.kwok.phases import Phase
from scale_tests.measure.drawing import draw
from scale_tests.measure.kwok.experiment import CHANGES, Scenario, storm_bound
from scale_tests.measure.spread import Cell

SCENARIO = Scenario(clusters=2, pods=50, rest_seconds=75.0, storm_pods=100)
PHASE = Phase(
    seconds=75.0,
    cpu_seconds=5.0,
    waited_seconds=1.0,
    reconciles=20,
    reconcile_p50=0.04,
    reconcile_p99=0.4,
    calls={"get": 14, "list": 12},
    writes=0,
    most_lists={"services": 1, "customresourcedefinitions": 3},
)


def cell(**changes: Mapping[str, Any] | int) -> Cell:
    phase = asdict(PHASE)
    found: Cell = {
        **asdict(SCENARIO),
        "ready_seconds": [4.0, 6.0],
        "forming": phase,
        "at_rest": phase,
        "storm": phase,
        "in_all": phase,
        "storm_changes": CHANGES,
        "storm_bound": 600,
        "clusters_ready_at_end": 2,
        "peak_memory_bytes": 100 << 20,
        "samples": [{"second": 1.0, "ready": 50, "memory_mib": 90.0, "cpu_seconds": 1.0}],
    }
    for key, value in changes.items():
        found[key] = {**found[key], **value} if isinstance(value, Mapping) else value
    return found


def missed(measured: Cell) -> list[str]:
    return [check.name.partition(": ")[2] for check in report.checks([measured]) if not check.ok]


def test_all_targets_are_met() -> None:
    assert missed(cell()) == []


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"at_rest": {"writes": 1}}, "writes at rest"),
        ({"at_rest": {"most_lists": {"endpointslices": 2}}}, "lists of a kind of child"),
        ({"clusters_ready_at_end": 1}, "clusters that are ready"),
        ({"peak_memory_bytes": 250 << 20}, "the operator's memory"),
        ({"at_rest": {"reconcile_p99": 1.0}}, "p99 of a reconcile at rest"),
        ({"in_all": {"reconcile_p99": 1.0}}, "p99 of a reconcile from first to last"),
        ({"in_all": {"reconcile_p99": None}}, "p99 of a reconcile from first to last"),
        ({"storm": {"reconciles": 601}}, "reconciles in a storm"),
    ],
)
def test_each_target_can_be_missed(changes: dict[str, Any], name: str) -> None:
    (found,) = missed(cell(**changes))
    assert found.startswith(name)


def test_the_bound_of_a_storm_is_four_reconciles_a_second_and_cluster() -> None:
    assert storm_bound(1, 10.0) == 41
    assert storm_bound(20, 10.0) == 820


@pytest.mark.parametrize("quick", [True, False])
def test_every_storm_ends_where_it_began(quick: bool) -> None:
    for scenario in plan(quick):
        assert states(scenario.storm_pods, CHANGES)[-1]
        assert scenario.storm_pods <= scenario.clusters * scenario.pods
        assert scenario.rest_seconds > 60


def test_table_and_picture_say_that_pods_are_simulated(tmp_path: Path) -> None:
    text = str(report.tables([cell()]))
    assert "simulated pods" in text
    assert "get 14, list 12" in text
    (drawn,) = draw([report.PICTURE], [cell(), cell()], tmp_path)
    assert "simulated" in drawn.file.read_text()
    assert draw([report.PICTURE], [], tmp_path) == []
