"""Targets of cells."""

from typing import Any

import pytest

from scale_tests.benches.experiments import checks
from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.benches.experiments.tests.cells import experiment, result, simulated_cell
from scale_tests.measure.checks import Check


def _checks(chosen: Experiment, **changes: Any) -> list[Check]:
    points = chosen.points()
    results = [result(points[0], **changes), *(result(point) for point in points[1:])]
    return checks.checks(chosen, results)


def test_cells_that_went_well_hold_all_claims() -> None:
    assert all(check.ok for check in _checks(experiment()))


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"converged": False}, 0),
        ({"error": "StalledError: nothing has moved"}, 0),
        ({"value": 1}, 1),
        ({"exact": False}, 1),
        ({"left": ("pods/ads-0",)}, 2),
    ],
)
def test_a_cell_that_did_not_misses_its_claim(changes: dict[str, Any], missed: int) -> None:
    assert [check.ok for check in _checks(experiment(), **changes)].index(False) == missed


def test_increments_that_are_known_to_be_lost_are_accounted_for() -> None:
    found = _checks(experiment(), value=1430, increments_sum=1440, lost=10)
    assert all(check.ok for check in found)


@pytest.mark.parametrize(
    ("threshold", "ok", "value"),
    [
        ({"figure": "bytes_payload", "most": "16MiB"}, True, "0.01562 GiB"),
        ({"figure": "bytes_payload", "most": "15MiB"}, False, "0.01562 GiB"),
        ({"figure": "bytes_payload", "most": "15MiB", "nodes": 8}, True, "0.007812 GiB"),
        ({"figure": "seconds_to_joined", "least": 4}, True, "4"),
        (
            {"figure": "memory_bytes_per_node", "most": "15MiB", "overlay": "HyParView"},
            False,
            "16 MiB",
        ),
    ],
)
def test_a_threshold_holds_the_worst_of_the_cells_it_selects(
    threshold: dict[str, Any], ok: bool, value: str
) -> None:
    check = _checks(experiment(thresholds=[threshold]))[-1]
    assert (check.ok, check.value) == (ok, value)


def test_a_threshold_without_a_cell_is_neither_held_nor_missed() -> None:
    chosen = experiment(thresholds=[{"figure": "bytes_tcp", "most": 1, "nodes": 1024}])
    check = _checks(chosen)[-1]
    assert (check.name, check.value, check.ok) == ("bytes_tcp (1,024 nodes)", None, None)


def test_a_threshold_without_a_real_cell_applies_to_a_simulated_one() -> None:
    payload = {"most": "600MiB", "synchronization": "Tree", "nodes": 1024}
    chosen = experiment(
        thresholds=[
            {"figure": "bytes_payload", **payload},
            {"figure": "bytes_frames", **payload},
            {"figure": "seconds_to_converge", **payload},
            {"figure": "bytes_payload", "most": "1GiB", "nodes": 8},
        ]
    )
    results = [result(point) for point in chosen.points()]
    held = checks.checks(chosen, results, [simulated_cell(), simulated_cell(nodes=8)])[3:]
    assert [check.ok for check in held] == [True, False, None, True]
    assert held[0].name == "bytes_payload (Tree, 1,024 nodes, simulated, 9 of 180 increments)"
    assert "simulated" not in held[3].name


def test_a_threshold_of_which_not_all_cells_were_run_says_of_how_many() -> None:
    chosen = experiment(thresholds=[{"figure": "bytes_tcp", "most": "1GiB"}])
    check = checks.checks(chosen, [result(chosen.points()[0])])[-1]
    assert (check.name, check.ok) == ("bytes_tcp (1 of 8 cells)", True)


def test_a_figure_that_was_not_reached_misses_its_threshold() -> None:
    chosen = experiment(thresholds=[{"figure": "seconds_to_joined", "most": 100}])
    check = _checks(chosen, seconds_to_joined=None)[-1]
    assert (check.ok, check.value) == (False, "not reached")
