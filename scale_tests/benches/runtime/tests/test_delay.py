"""The order and the time of packets on a delayed line."""

from __future__ import annotations

from scale_tests.benches.runtime.delay import Line


def test_packets_leave_in_order_when_they_are_due() -> None:
    left: list[bytes] = []
    line = Line(0.5, left.append)
    assert line.seconds_to_next(0.0) is None
    line.take(b"first", 10.0)
    line.take(b"second", 10.25)
    line.deliver(10.4375)
    assert left == []
    assert line.seconds_to_next(10.4375) == 0.0625
    line.deliver(10.5)
    assert left == [b"first"]
    line.deliver(11.0)
    assert left == [b"first", b"second"]


def test_an_overdue_packet_is_due_now() -> None:
    line = Line(0.5, bytes)
    line.take(b"packet", 1.0)
    assert line.seconds_to_next(9.0) == 0.0
