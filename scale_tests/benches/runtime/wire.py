"""The network between the two virtual machines: namespaces of their own, and a delay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host.commands import ROOT, CommandError, capture

LOOPBACK = ("127.0.5.1", "127.0.5.2")
DELAYED = ("10.203.255.1", "10.203.255.2")


class WireError(Exception):
    """The network cannot be made; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A place for a virtual machine: its address, and what its command is prefixed with."""

    ip: str
    command: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Wire:
    """Two places, the time there and back between them, and the kernel's congestion control."""

    rtt_ms: float
    congestion: str
    hosts: tuple[Host, Host]


def congestion_controls() -> list[str]:
    """The congestion controls that this kernel has."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


@contextmanager
def wire(rtt_ms: float, congestion: str) -> Iterator[Wire]:
    """A network while the block runs; `rtt_ms` 0 is loopback. Raises WireError, CommandError."""
    if os.geteuid() != 0:
        raise WireError("network namespaces and TUN devices need root: run this as root")
    with ExitStack() as stack:
        names = [f"bench-{os.getpid()}-{side}" for side in ("a", "b")]
        if rtt_ms == 0:
            names = names[:1] * 2
        for name in dict.fromkeys(names):
            stack.enter_context(_namespace(name, congestion))
        if rtt_ms > 0:
            stack.enter_context(_delay(names, rtt_ms))
        addresses = DELAYED if rtt_ms > 0 else LOOPBACK
        left, right = (
            Host(ip=address, command=("ip", "netns", "exec", name))
            for name, address in zip(names, addresses, strict=True)
        )
        yield Wire(rtt_ms=rtt_ms, congestion=congestion, hosts=(left, right))


@contextmanager
def _namespace(name: str, congestion: str) -> Iterator[None]:
    capture(["ip", "netns", "add", name])
    try:
        capture(["ip", "-n", name, "link", "set", "lo", "up"])
        setting = Path("/proc/sys/net/ipv4/tcp_congestion_control")
        program = f"open('{setting}', 'w').write('{congestion}')"
        capture(["ip", "netns", "exec", name, sys.executable, "-c", program])
        yield
    finally:
        capture(["ip", "netns", "delete", name])


@contextmanager
def _delay(names: list[str], rtt_ms: float) -> Iterator[None]:
    argv = [sys.executable, "-m", "scale_tests.benches.runtime.delay", "--rtt-ms", str(rtt_ms)]
    argv += ["--namespaces", *names, "--addresses", *DELAYED]
    # A session of its own: its two processes end together.
    with subprocess.Popen(
        argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    ) as line:
        try:
            assert line.stdout is not None
            if not line.stdout.readline():
                raise CommandError(argv, line.wait(), "its output is above")
            yield
        finally:
            if line.poll() is None:
                os.killpg(line.pid, signal.SIGKILL)
