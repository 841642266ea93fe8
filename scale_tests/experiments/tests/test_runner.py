"""What is left to run, and how progress is told."""

from __future__ import annotations

import pytest

from scale_tests.experiments import runner
from scale_tests.experiments.tests.cells import experiment, result


def test_the_first_estimate_is_of_counting_and_of_starting_pods() -> None:
    points = experiment().points()
    expected = sum(15 + 60 + 0.5 * point.nodes for point in points)
    assert runner.estimate(points, []) == pytest.approx(expected)
    assert runner.estimate([], []) == 0


def test_later_estimates_are_of_what_finished_cells_took() -> None:
    points = experiment().points()
    finished = [result(points[0], seconds_in_all=60 + 15 + 2 * 8.0)]
    assert runner.estimate(points[1:2], finished) == pytest.approx(15 + 60 + 2 * 8)


def test_a_finished_cell_is_told_in_a_line() -> None:
    point = experiment().points()[0]
    assert "converged: 1440 impressions" in runner.outcome(result(point))
    assert "NOT CONVERGED" in runner.outcome(result(point, converged=False))
    failed = runner.outcome(result(point, error="StalledError: stood still"))
    assert failed == "FAILED after 80 s: StalledError: stood still"


def test_durations_as_people_say_them() -> None:
    assert runner.minutes(89) == "89 s"
    assert runner.minutes(600) == "10 min"
