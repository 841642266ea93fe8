"""The order, the time and the way of packets between namespaces."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations

from scale_tests.host.commands import ROOT
from scale_tests.host.hub import Line, destination

ADDRESSES = [bytes([10, 203, 255, last]) for last in (1, 2, 3)]
DELAY = 0.02
IMPORT = "from scale_tests.host.hub import carry"


def packet(source: bytes, to: bytes, version: int = 4) -> bytes:
    """A packet as a device gives it: ten bytes of the device, then those of IP."""
    return bytes(10) + bytes([version << 4, *bytes(11)]) + source + to + b"data"


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


def test_a_packet_says_where_it_goes() -> None:
    assert destination(packet(ADDRESSES[0], ADDRESSES[1])) == ADDRESSES[1]
    assert destination(packet(ADDRESSES[0], ADDRESSES[1], version=6)) == b""


def test_three_ends_reach_each_other_after_the_delay() -> None:
    with hub(3) as ends:
        for source, to in permutations(range(3), 2):
            sent = packet(ADDRESSES[source], ADDRESSES[to])
            begin = time.monotonic()
            ends[source].send(sent)
            assert ends[to].recv(100) == sent
            assert time.monotonic() - begin >= DELAY


def test_a_packet_to_nowhere_is_dropped_and_the_next_one_arrives() -> None:
    with hub(2) as ends:
        ends[0].send(packet(ADDRESSES[0], ADDRESSES[2]))
        ends[0].send(packet(ADDRESSES[0], ADDRESSES[1], version=6))
        last = packet(ADDRESSES[0], ADDRESSES[1])
        ends[0].send(last)
        assert ends[1].recv(100) == last


@contextmanager
def hub(count: int) -> Iterator[list[socket.socket]]:
    """A hub between sockets instead of devices, with a process for each, as `hub.main` has it."""
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(count)]
    inner = [inside.fileno() for inside, _ in pairs]
    for inside, outside in pairs:
        inside.setblocking(False)
        outside.settimeout(60)
    sinks = dict(zip(ADDRESSES, inner, strict=False))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", f"{IMPORT}; carry({source}, {sinks}, {DELAY})"],
            cwd=ROOT,
            pass_fds=inner,
        )
        for source in inner
    ]
    try:
        yield [outside for _, outside in pairs]
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for pair in pairs:
            for end in pair:
                end.close()
