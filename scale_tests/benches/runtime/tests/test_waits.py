"""Waits read from the kernel's scheduler, and compared with pings."""

import pytest

from scale_tests.benches.runtime.waits import explain, waits


def switch(at: int, left: str, entered: str, state: str = "S", name: str = "1_scheduler") -> str:
    return (
        f"  some 1 47.{at:09}: sched:sched_switch: prev_comm={name} prev_pid={left} prev_prio=120"
        f" prev_state={state} ==> next_comm=1_scheduler next_pid={entered} next_prio=120"
    )


def wakeup(at: int, thread: str, name: str = "0_poller") -> str:
    event = f"sched:sched_wakeup: comm={name} pid={thread} prio=120 target_cpu=0"
    return f"  swapper 0 47.{at:09}: {event}"


def seen(*events: str) -> list[tuple[int, int]]:
    return [(a - 47 * 10**9, b - 47 * 10**9) for a, b in waits(events)]


def test_a_thread_waits_from_its_waking_until_it_is_entered() -> None:
    assert seen(wakeup(100, "7"), switch(350, "9", "7")) == [(100, 350)]


def test_one_that_is_preempted_waits_as_well() -> None:
    assert seen(switch(100, "9", "7", state="R+"), switch(200, "7", "9")) == [(100, 200)]


def test_one_that_sleeps_does_not_wait() -> None:
    assert seen(switch(100, "9", "7"), switch(200, "7", "9")) == []


def test_a_second_waking_changes_nothing() -> None:
    assert seen(wakeup(100, "7"), wakeup(200, "7"), switch(350, "9", "7")) == [(100, 350)]


def test_threads_of_others_and_other_lines_are_not_counted() -> None:
    lines = (wakeup(100, "7", name="containerd"), "# nonsense", switch(350, "9", "7", name="bash"))
    assert seen(*lines) == []


def test_waits_that_overlap_are_counted_once() -> None:
    [ping] = explain([(1_000_000, 5_000_000)], [(0, 2_000_000), (1_500_000, 3_000_000)])
    assert ping.milliseconds == 4
    assert ping.share == pytest.approx(0.5)
    assert ping.longest_ms == pytest.approx(1.5)


def test_a_ping_without_a_wait_is_not_explained() -> None:
    [ping] = explain([(1_000_000, 2_000_000)], [(3_000_000, 4_000_000)])
    assert ping.share == 0
    assert ping.longest_ms == 0
