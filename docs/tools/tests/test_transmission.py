"""The picture of what synchronisation transmits."""

import pytest

from docs.tools.transmission import COLOURS, Series, picture, published, series, svg

CELL = {
    "overlay": "HyParView",
    "synchronization": "Tree",
    "simulated": False,
    "converged": True,
    "nodes": 64,
    "bytes_payload": 2**20,
}


def test_repetitions_have_a_mean_and_other_overlays_and_failed_cells_do_not_count() -> None:
    cells = [
        CELL,
        {**CELL, "bytes_payload": 3 * 2**20},
        {**CELL, "converged": False, "bytes_payload": 2**30},
        {**CELL, "overlay": "FullMesh", "bytes_payload": 2**30},
        {**CELL, "simulated": True, "nodes": 128},
    ]
    assert series(cells)["Tree"] == Series({64: 2.0}, {128: 1.0})


def test_real_nodes_come_before_simulated_ones() -> None:
    assert Series({64: 2.0}, {64: 3.0, 128: 5.0}).points() == [(64, 2.0, True), (128, 5.0, False)]


def test_the_published_points_at_1024_nodes_are_real_where_they_were_measured() -> None:
    last = {way: line.points()[-1] for way, line in published().items()}
    assert {way: real for way, (_, _, real) in last.items()} == {
        "State": False, "Delta": False, "Tree": True, "Aggregate": True,
    }  # fmt: skip
    assert {nodes for nodes, _, _ in last.values()} == {1024}


@pytest.mark.parametrize("colours", COLOURS)
def test_the_picture_is_as_generated(colours: str) -> None:
    assert picture(colours).read_text() == svg(published(), COLOURS[colours]), "make reference"
