"""The part of a matrix that is run now."""

import pytest

from scale_tests.benches.experiments.experiment import ExperimentError
from scale_tests.benches.experiments.selection import EVERYTHING, Selection
from scale_tests.benches.experiments.tests.cells import experiment


def _names(selection: Selection) -> list[str]:
    chosen = experiment()
    selection.check(chosen)
    return [point.slug for point in chosen.points() if selection.takes(point)]


def test_nothing_named_is_everything() -> None:
    assert len(_names(EVERYTHING)) == 8
    assert EVERYTHING.text == ""


def test_points_have_one_of_each_that_is_named() -> None:
    selection = Selection(sizes=[8], synchronizations=["Tree"])
    assert _names(selection) == ["0008-hyparview-tree-1", "0008-clientserver-servers-2-tree-1"]
    assert selection.text == "--sizes 8 --synchronizations Tree"


@pytest.mark.parametrize("name", ["ClientServer", "ClientServer servers 2"])
def test_an_overlay_is_named_by_its_kind_or_as_in_tables(name: str) -> None:
    assert len(_names(Selection(overlays=[name]))) == 4


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(sizes=[9]), "--sizes: 9 is none of the experiment's: choose of 8, 16"),
        (Selection(overlays=["XBot"]), "--overlays: XBot .*HyParView, ClientServer"),
        (Selection(synchronizations=["Delta"]), "--synchronizations: Delta .*State, Tree"),
    ],
)
def test_a_selection_of_unknown_values_is_refused(selection: Selection, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        selection.check(experiment())
