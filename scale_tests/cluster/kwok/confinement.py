"""Namespaces of a measurement's own, for network and processes.

The measurement is the first process of a PID namespace: when it ends, so does every program that it
started, and addresses and ports are free whatever else runs. The outer process waits, passes on
signals, and takes the measurement with it when it is killed.
"""

import ipaddress
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

from scale_tests.host import procfs
from scale_tests.host.commands import ExpectedError, capture

FIRST_PROCESS = 1
_ENDING = (signal.SIGINT, signal.SIGTERM)


def command(module: str, arguments: Sequence[str]) -> list[str]:
    """The command line that runs a module of Python as the first process of new namespaces."""
    return [
        *("unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"),
        *(sys.executable, "-m", module, *arguments),
    ]


def confine(module: str, *arguments: str) -> int:
    """Runs `module` confined; returns its exit status. Raises ExpectedError."""
    if os.geteuid() != 0:
        raise ExpectedError("network and PID namespaces need root: run this with sudo")
    if shutil.which("unshare") is None:
        raise ExpectedError("unshare is missing; it is in the package util-linux")
    sys.stdout.flush()
    return attend(command(module, arguments))


def attend(argv: Sequence[str]) -> int:
    """Runs a program that waits for its only child; returns its exit status.

    SIGINT and SIGTERM reach the child as SIGTERM, which it handles by `heed`. The program is killed
    when this process ends first.
    """
    # Blocked until there is a process to pass them on to, and in the child until it heeds them.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    # In a process group of its own, for no key of the terminal to interrupt what the child runs.
    with subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *argv], stdin=subprocess.DEVNULL, process_group=0
    ) as program:

        def pass_on(*_: object) -> None:
            children = procfs.children(program.pid)
            if not children:
                program.kill()
            procfs.send(signal.SIGTERM, children)

        for number in _ENDING:
            signal.signal(number, pass_on)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        return program.wait()


def heed() -> None:
    """Turns SIGTERM into KeyboardInterrupt, which a PID namespace's first process would ignore."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def prepare(address: str, networks: Sequence[ipaddress.IPv4Network]) -> None:
    """Gives the loopback interface an address and some networks.

    Raises ExpectedError: this process is not confined; CommandError: `ip` refuses.
    """
    if os.getpid() != FIRST_PROCESS:
        raise ExpectedError("not confined: begin with `confinement.confine`")
    capture(["ip", "link", "set", "lo", "up"])
    capture(["ip", "address", "replace", f"{address}/32", "dev", "lo"])
    for network in networks:
        capture(["ip", "route", "replace", "local", str(network), "dev", "lo"])
