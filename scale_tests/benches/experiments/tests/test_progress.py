"""How progress is told."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from scale_tests.benches.experiments.progress import Pace, Progress, estimate, minutes, outcome
from scale_tests.benches.experiments.tests.cells import experiment, result


class Clock:
    """Time as a test wants it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def _told(later: float, looks: Sequence[tuple[float, str, float | None]]) -> list[str]:
    """The lines that are written of looks: time, line, share."""
    clock, written = Clock(), io.StringIO()
    progress = Progress(Console(file=written, width=100), later, clock)
    for clock.seconds, line, counted in looks:
        progress(line, counted)
    return written.getvalue().splitlines()


def test_the_first_estimate_is_of_counting_and_of_starting_pods() -> None:
    points = experiment().points()
    expected = sum(15 + 60 + 0.5 * point.nodes for point in points)
    assert estimate(points, []) == pytest.approx(expected)
    assert estimate([], []) == 0


def test_later_estimates_are_of_what_finished_cells_took() -> None:
    points = experiment().points()
    finished = [result(points[0], seconds_in_all=60 + 15 + 2 * 8.0)]
    assert estimate(points[1:2], finished) == pytest.approx(15 + 60 + 2 * 8)


def test_the_pace_is_that_since_something_was_first_seen() -> None:
    clock = Clock()
    pace = Pace(clock)
    clock.seconds = 100
    assert pace.left(0.1) is None
    clock.seconds = 110
    assert pace.left(0.3) == pytest.approx(35)
    assert pace.left(1.2) == 0


def test_within_a_long_cell_it_is_told_how_long_it_goes_on_counting() -> None:
    looks = [(0, "forming", None), (10, "counting", 0.0), (310, "counting", 0.1)]
    assert (
        _told(600, looks)[-1] == "    310 s  counting; about 45 min of counting left, 55 min in all"
    )
    assert _told(0, looks)[-1] == "    310 s  counting; about 45 min of counting left"


def test_what_has_counted_to_its_end_tells_no_time() -> None:
    looks = [(0, "counting", 0.0), (10, "counting", 1.0), (20, "collecting", None)]
    assert _told(600, looks)[1:] == ["     10 s  counting", "     20 s  collecting"]


def test_not_every_look_is_a_line() -> None:
    assert len(_told(0, [(0, "a", None), (5, "b", None), (10, "c", None)])) == 2


def test_a_finished_cell_is_told_in_a_line() -> None:
    point = experiment().points()[0]
    assert "converged: 1440 impressions" in outcome(result(point))
    assert "NOT CONVERGED" in outcome(result(point, converged=False))
    failed = outcome(result(point, error="StalledError: stood still"))
    assert failed == "FAILED after 80 s: StalledError: stood still"


def test_durations_as_people_say_them() -> None:
    assert minutes(89) == "89 s"
    assert minutes(600) == "10 min"
