"""Figures that follow from samples."""

from dataclasses import replace

import pytest

from scale_tests.benches.demo.sample import Sample, sent_bytes
from scale_tests.benches.demo.tests import runs
from scale_tests.cluster.sampler import slopes
from scale_tests.cluster.tests.nodes import NODES, node


def test_sent_bytes_are_summed_over_nodes() -> None:
    assert sent_bytes(runs.run())["gossip"][-1] == (18.0, 18 * 100 * NODES)


def test_traffic_before_a_restart_stays_counted() -> None:
    def only(second: int, incarnation: int, sent: int) -> Sample:
        one = node(0, second, incarnation=incarnation, sent=sent)
        return replace(runs.sample(second), nodes=(one,))

    line = sent_bytes([only(1, 1, 100), only(2, 1, 250), only(3, 2, 30), only(4, 2, 40)])
    assert [value for _, value in line["gossip"]] == [100, 250, 280, 290]


def test_a_node_that_does_not_answer_for_a_while_is_not_counted_twice() -> None:
    silent = replace(runs.sample(2), nodes=())
    line = sent_bytes([runs.sample(1), silent, runs.sample(3)])["gossip"]
    assert line[-1][1] == 3 * 100 * NODES


def test_the_rate_of_a_straight_line_is_its_slope() -> None:
    line = [(float(second), 7.0 * second) for second in range(10)]
    assert [rate for _, rate in slopes(line, 3.0)] == pytest.approx([7.0] * 9)


def test_a_single_point_has_no_rate() -> None:
    assert list(slopes([(1.0, 5.0)], 3.0)) == []


def test_progress_is_equal_while_nothing_moves_and_differs_with_one_impression() -> None:
    first, second = runs.sample(18), replace(runs.sample(18), seconds=99.0)
    assert first.progress() == second.progress()
    assert runs.sample(8).progress() != runs.sample(9).progress()
