"""Waiting as long as something moves."""

from itertools import count

import pytest

from scale_tests.cluster.wait import StallClock, StalledError, wait_for


def test_the_clock_starts_again_with_every_change() -> None:
    ticks = count()
    clock = StallClock(now=lambda: float(next(ticks)))
    still = [clock.observe(value) for value in ("a", "a", "a", "b", "b")]
    assert [still[0], still[3]] == [1.0, 1.0]
    assert still[1] < still[2]


def test_a_wait_returns_the_value_that_is_done() -> None:
    values = count()
    assert wait_for("three", lambda: next(values), lambda v: v == 3, period_seconds=0.0) == 3


def test_a_wait_without_progress_reports_the_last_state() -> None:
    with pytest.raises(StalledError, match=r"a miracle: no progress .* the last I saw: 7"):
        wait_for("a miracle", lambda: 7, lambda _: False, stall_seconds=0.0, period_seconds=0.0)
