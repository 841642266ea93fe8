"""The cells of a run, and their text for the Erlang side."""

from collections import Counter
from itertools import groupby

from scale_tests.benches.reply import plan

POINT = ("sweep", "ring", "work", "cost_us", "callers", "repetition")


def test_all_ways_take_turns_at_every_point() -> None:
    found = plan.cells(plan.plan(quick=False))
    points = [(key, list(cells)) for key, cells in groupby(found, lambda c: [c[k] for k in POINT])]
    assert len(points) == 5 * (2 + 3 * 8 + 3)
    for _, cells in points:
        ways = {cell["way"] for cell in cells}
        assert ways == {"inline", "spawn_state", "spawn_minimal", "pool", "read", "ets"}
    firsts = {cells[0]["way"] for _, cells in points}
    assert len(firsts) > 1


def test_every_cell_is_measured_in_every_repetition() -> None:
    found = plan.cells(plan.plan(quick=True))
    cells = Counter(tuple((k, v) for k, v in cell.items() if k != "repetition") for cell in found)
    assert set(cells.values()) == {3}


def test_the_second_hash_has_a_control_inline() -> None:
    found = plan.cells(plan.plan(quick=True))
    assert {cell["way"] for cell in found if cell["hashes"] == 2} == {"inline", "spawn_state"}


def test_the_plan_is_erlang_terms() -> None:
    assert plan.text([{"way": "inline", "callers": 1}]) == "#{way => inline, callers => 1}.\n"
