"""A network and processes of one's own, that end with the one who began them.

A measurement goes on as the first process of a new PID namespace: when it ends, however it ends,
the kernel ends every program that it has started, and their network namespace goes with them.
Addresses and ports are free, whatever else runs on the machine.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import sys
from collections.abc import Sequence
from typing import NoReturn

from scale_tests.localkube.commands import run
from scale_tests.localkube.errors import LocalkubeError

FIRST_PROCESS = 1


class ConfinementError(LocalkubeError):
    """No namespaces can be made, or none have been; the message says what to do."""


def command(module: str, arguments: Sequence[str]) -> list[str]:
    """The command line that runs a module of Python as the first process of new namespaces."""
    return [
        *("unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"),
        *(sys.executable, "-m", module, *arguments),
    ]


def enter(module: str, *arguments: str) -> NoReturn:
    """Goes on as `module`, confined, in this process's place: output, status and signals are its.

    Raises:
        ConfinementError: this user may not, or `unshare` is missing.
    """
    if os.geteuid() != 0:
        raise ConfinementError("network and PID namespaces need root: run this with sudo")
    if shutil.which("unshare") is None:
        raise ConfinementError("unshare is missing; it is in the package util-linux")
    argv = command(module, arguments)
    sys.stdout.flush()
    os.execvp(argv[0], argv)


def prepare(address: str, networks: Sequence[ipaddress.IPv4Network]) -> None:
    """Gives the loopback interface an address, and every address of some networks.

    Raises:
        ConfinementError: this process is not confined, and would change the machine's network.
        CommandError: `ip` refuses.
    """
    if os.getpid() != FIRST_PROCESS:
        raise ConfinementError("not confined: begin with `confinement.enter`")
    run(["ip", "link", "set", "lo", "up"])
    run(["ip", "address", "replace", f"{address}/32", "dev", "lo"])
    for network in networks:
        run(["ip", "route", "replace", "local", str(network), "dev", "lo"])
