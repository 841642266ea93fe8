"""Progress, as it is printed."""

import io

import pytest
from rich.console import Console

from scale_tests.benches.experiments.runner import estimate, minutes, outcome, progress
from scale_tests.benches.experiments.tests.cells import experiment, result


def test_the_first_estimate_is_of_counting_and_of_starting_pods() -> None:
    points = experiment().points()
    expected = sum(15 + 60 + 0.5 * point.nodes for point in points)
    assert estimate(points, []) == pytest.approx(expected)
    assert estimate([], []) == 0


def test_later_estimates_use_the_time_of_finished_cells() -> None:
    points = experiment().points()
    finished = [result(points[0], seconds_in_all=60 + 15 + 2 * 8.0)]
    assert estimate(points[1:2], finished) == pytest.approx(15 + 60 + 2 * 8)


def test_not_every_line_is_written() -> None:
    written, moments = io.StringIO(), iter([0.0, 0.0, 5.0, 10.0])
    report = progress(Console(file=written), lambda: next(moments))
    for line in ("a", "b", "c"):
        report(line)
    assert written.getvalue().splitlines() == ["      0 s  a", "     10 s  c"]


def test_a_finished_cell_is_reported_in_a_line() -> None:
    point = experiment().points()[0]
    assert "converged: 1440 impressions" in outcome(result(point))
    assert "NOT CONVERGED" in outcome(result(point, converged=False))
    failed = outcome(result(point, error="StalledError: stood still"))
    assert failed == "FAILED after 80 s: StalledError: stood still"


def test_durations_as_people_say_them() -> None:
    assert minutes(89) == "89 s"
    assert minutes(600) == "10 min"
