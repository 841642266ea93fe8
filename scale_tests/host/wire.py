"""The network between virtual machines: namespaces of their own, and a delay."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host import procfs
from scale_tests.host.commands import ROOT, CommandError, ExpectedError, capture

LOOPBACK, DELAYED = "127.0.5", "10.203.255"
"""The networks of a wire without and with a delay."""

MOST = 254
"""The ends that a wire may have: the addresses of its network."""

_TCP = Path("/proc/sys/net/ipv4")
_LEAST = 4096
_FIRST = {"tcp_rmem": 131072, "tcp_wmem": 16384}
"""Buffers of a socket in bytes as the kernel has them: the least, and the first, which tuning
enlarges."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A place for a virtual machine: its address, and what its command is prefixed with."""

    ip: str
    command: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Wire:
    """The places, the time there and back between any two of them, and TCP's settings."""

    rtt_ms: float
    congestion: str
    """The kernel's congestion control."""
    hosts: tuple[Host, ...]
    window: int | None = None
    """The largest buffer of a socket in bytes, for sending and for receiving; None for the
    kernel's own. The kernel's overhead is included: less than that is under way."""


def congestion_controls() -> list[str]:
    """The congestion controls that this kernel has."""
    return (_TCP / "tcp_available_congestion_control").read_text().split()


def tcp_settings(congestion: str, window: int | None) -> dict[str, str]:
    """The settings of a namespace, by their files in /proc/sys/net/ipv4."""
    found = {"tcp_congestion_control": congestion}
    if window is not None:
        found |= {name: f"{_LEAST} {min(size, window)} {window}" for name, size in _FIRST.items()}
    return found


@contextmanager
def wire(
    rtt_ms: float, congestion: str, *, ends: int = 2, window: int | None = None
) -> Iterator[Wire]:
    """A network while the block runs; `rtt_ms` 0 is loopback. Raises ExpectedError.

    Processes that are left in its namespaces are killed.
    """
    if os.geteuid() != 0:
        raise ExpectedError("network namespaces and TUN devices need root: run this as root")
    if not 2 <= ends <= MOST:
        raise ExpectedError(f"a wire has 2 to {MOST} ends, not {ends}")
    with ExitStack() as stack:
        names = [f"bench-{os.getpid()}-{number}" for number in range(1, ends + 1)]
        if rtt_ms == 0:
            names = names[:1] * ends
        settings = tcp_settings(congestion, window)
        for name in dict.fromkeys(names):
            stack.enter_context(_namespace(name, settings))
        network = DELAYED if rtt_ms > 0 else LOOPBACK
        addresses = [f"{network}.{number}" for number in range(1, ends + 1)]
        if rtt_ms > 0:
            stack.enter_context(_delay(names, addresses, rtt_ms))
        hosts = tuple(
            Host(ip=address, command=("ip", "netns", "exec", name))
            for name, address in zip(names, addresses, strict=True)
        )
        yield Wire(rtt_ms=rtt_ms, congestion=congestion, hosts=hosts, window=window)


@contextmanager
def _namespace(name: str, settings: Mapping[str, str]) -> Iterator[None]:
    capture(["ip", "netns", "add", name])
    try:
        capture(["ip", "-n", name, "link", "set", "lo", "up"])
        files = {str(_TCP / setting): value for setting, value in settings.items()}
        program = f"for file, value in {json.dumps(files)}.items(): open(file, 'w').write(value)"
        capture(["ip", "netns", "exec", name, sys.executable, "-c", program])
        yield
    finally:
        left = capture(["ip", "netns", "pids", name]).split()
        procfs.send(signal.SIGKILL, map(int, left))
        capture(["ip", "netns", "delete", name])


@contextmanager
def _delay(names: list[str], addresses: list[str], rtt_ms: float) -> Iterator[None]:
    argv = [sys.executable, "-m", "scale_tests.host.hub", "--rtt-ms", str(rtt_ms)]
    argv += ["--namespaces", *names, "--addresses", *addresses]
    # A session of its own: its processes end together.
    with subprocess.Popen(
        argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    ) as hub:
        try:
            assert hub.stdout is not None
            if not hub.stdout.readline():
                raise CommandError(argv, hub.wait(), "its output is above")
            yield
        finally:
            if hub.poll() is None:
                os.killpg(hub.pid, signal.SIGKILL)
