"""The rotation of an authority under faults: a part of what `make verify` searches."""

import pytest

from rotation_search import NODES, Execution, ViolationError, main, search


def test_authorities_are_rotated_under_any_fault_and_some_pairs() -> None:
    result = search(shares=(1.0, 0.02))
    assert result.executions > 400
    assert result.counterexample is None


def test_an_operator_that_does_not_wait_is_found() -> None:
    result = search(shares=(1.0,), mutation="does_not_wait")
    assert result.counterexample is not None
    schedule, _ = result.counterexample
    assert len(schedule) == 1
    with pytest.raises(ViolationError):
        Execution(schedule, "does_not_wait").run()
    Execution(schedule).run()


def test_an_execution_is_run_once() -> None:
    execution = Execution({})
    execution.run()
    assert len(execution.points) == len(set(execution.points))
    faults = {"authority": 1, "scrape": 2, "write": 3, "kubelet": 3, "node": 2}
    singles = sum(faults[kind] for kind, _, _ in execution.points)
    assert search(shares=(1.0,)).executions == 1 + singles


def test_the_cell_of_the_result() -> None:
    cell = main(["--quick"])
    assert cell["nodes"] == NODES
    assert cell["failing"] == 0
