"""Network namespaces that are connected with a delay: `python -m scale_tests.host.hub`.

A packet from one namespace's TUN device reaches that of its destination after a while, without
loss, as fast as this process is. Each namespace has a process for the packets that it sends, so
that data do not delay acknowledgements.
"""

import argparse
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Generic, TypeVar

DEVICE = "delay0"
MTU = 65000
"""As large as an IP packet may be, nearly: a packet costs more than its bytes, as on loopback."""

QUEUE_PACKETS = 20000
"""Packets that wait in a device before the kernel drops some; no window is that large."""

_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
_TUN_F_CSUM = 0x01
_VNET_HEADER_BYTES = 10
_VERSION_AT = _VNET_HEADER_BYTES
_DESTINATION = slice(_VNET_HEADER_BYTES + 16, _VNET_HEADER_BYTES + 20)
_READ_AT_ONCE = 64


def open_device(namespace: str) -> int:
    """Creates the device in a network namespace; returns its descriptor. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/run/netns", namespace).open() as file:
        if libc.setns(file.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {namespace}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    # The header before each packet says that its checksum is yet to be computed, which, passed on
    # unread, spares both kernels the work, as on loopback.
    flags = _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), flags))
    fcntl.ioctl(device, _TUNSETOFFLOAD, _TUN_F_CSUM)
    return device


def configure(namespace: str, address: str) -> None:
    """Gives the device of a namespace its address. Raises subprocess.CalledProcessError.

    All namespaces of a hub are in one network of 254 addresses.
    """
    for command in (
        f"addr add {address}/24 dev {DEVICE}",
        f"link set {DEVICE} mtu {MTU} txqueuelen {QUEUE_PACKETS} up",
    ):
        subprocess.run(["ip", "-n", namespace, *command.split()], check=True)


def destination(packet: bytes | bytearray) -> bytes:
    """The IPv4 address to which a packet of a device goes, four bytes; none of another protocol."""
    return bytes(packet[_DESTINATION]) if packet[_VERSION_AT] >> 4 == 4 else b""


T = TypeVar("T")


class Line(Generic[T]):
    """Packets in order, each due a fixed time after it came.

    `write` sends a packet. The clock, in seconds, is the caller's.
    """

    def __init__(self, delay: float, write: Callable[[T], object]) -> None:
        self._delay = delay
        self._write = write
        self._waiting: deque[tuple[float, T]] = deque()

    def take(self, packet: T, now: float) -> None:
        """A packet has come in."""
        self._waiting.append((now + self._delay, packet))

    def deliver(self, now: float) -> None:
        """Writes what is due."""
        while self._waiting and self._waiting[0][0] <= now:
            self._write(self._waiting.popleft()[1])

    def seconds_to_next(self, now: float) -> float | None:
        """Seconds until a packet is due; None when none waits."""
        return max(0.0, self._waiting[0][0] - now) if self._waiting else None


def carry(source: int, sinks: Mapping[bytes, int], delay: float) -> None:
    """Carries packets from one device to those of their destinations, for ever.

    `sinks` are the devices by their addresses. Packets to other addresses are dropped.
    """
    # Of packets that have left. New memory for each would cost page faults, on the processors of
    # what is measured.
    free: list[bytearray] = []

    def write(packet: tuple[bytearray, int]) -> None:
        buffer, size = packet
        sink = sinks.get(destination(buffer))
        if sink is not None:
            os.write(sink, memoryview(buffer)[:size])
        free.append(buffer)

    line = Line(delay, write)
    while True:
        now = time.monotonic()
        line.deliver(now)
        readable, _, _ = select.select([source], [], [], line.seconds_to_next(now))
        if readable:
            now = time.monotonic()
            for _ in range(_READ_AT_ONCE):
                buffer = free.pop() if free else bytearray(_VNET_HEADER_BYTES + MTU)
                try:
                    line.take((buffer, os.readv(source, [buffer])), now)
                except BlockingIOError:
                    free.append(buffer)
                    break


def main() -> None:
    """Makes the hub, says so with an empty line of output, and serves it until it is killed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--namespaces", nargs="+", required=True)
    parser.add_argument("--addresses", nargs="+", required=True)
    parser.add_argument("--rtt-ms", type=float, required=True)
    options = parser.parse_args()
    devices = [open_device(namespace) for namespace in options.namespaces]
    for namespace, address in zip(options.namespaces, options.addresses, strict=True):
        configure(namespace, address)
    print(flush=True)
    addresses = [IPv4Address(address).packed for address in options.addresses]
    sinks = dict(zip(addresses, devices, strict=True))
    delay = options.rtt_ms / 2000
    for device in devices[1:]:
        if os.fork() == 0:
            carry(device, sinks, delay)
    carry(devices[0], sinks, delay)


if __name__ == "__main__":
    main()
