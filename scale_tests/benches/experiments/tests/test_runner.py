"""Cells that are left to run, and why the others are not."""

from scale_tests.benches.experiments import runner
from scale_tests.benches.experiments.selection import EVERYTHING, Selection
from scale_tests.benches.experiments.tests.cells import experiment, result

SMALL = Selection(sizes=[8])


def test_a_cell_that_is_done_is_not_run_again_unless_it_failed() -> None:
    points = experiment().points()
    done = {
        points[0].slug: result(points[0]),
        points[1].slug: result(points[1], error="StalledError: stood still"),
    }
    assert runner.to_do(points, done, EVERYTHING, again=False) == points[2:]
    assert runner.to_do(points, done, EVERYTHING, again=True) == points[1:]
    assert runner.to_do(points, done, SMALL, again=True) == points[1:4]


def test_unselected_cells_have_their_previous_reason_or_the_selection() -> None:
    points = experiment().points()
    first, second, *_ = (point for point in points if point.nodes == 16)
    before = {points[0].slug: "no room", first.slug: "no room"}
    reasons = runner.unselected(points, SMALL, before)
    assert len(reasons) == 4
    assert reasons[first.slug] == "no room"
    assert reasons[second.slug] == "not asked for: --sizes 8"
