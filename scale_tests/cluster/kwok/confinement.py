"""A network and processes of one's own, that end with the one who began them.

A measurement runs as the first process of a new PID namespace: when it ends, however it ends, the
kernel ends every program that it has started, and their network namespace goes with them. Addresses
and ports are free, whatever else runs on the machine.

Outside, the process that the user began waits for it. Asked to end, that one asks the measurement
to, which cleans up; killed, it takes the measurement with it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

from scale_tests.host import procfs
from scale_tests.host.commands import capture
from scale_tests.localkube.errors import LocalkubeError

FIRST_PROCESS = 1
_ENDING = (signal.SIGINT, signal.SIGTERM)


class ConfinementError(LocalkubeError):
    """No namespaces can be made, or none have been; the message says what to do."""


def command(module: str, arguments: Sequence[str]) -> list[str]:
    """The command line that runs a module of Python as the first process of new namespaces."""
    return [
        *("unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"),
        *(sys.executable, "-m", module, *arguments),
    ]


def confine(module: str, *arguments: str) -> int:
    """Runs `module` confined; returns the status that it exits with.

    Raises ConfinementError: this user may not, or `unshare` is missing.
    """
    if os.geteuid() != 0:
        raise ConfinementError("network and PID namespaces need root: run this with sudo")
    if shutil.which("unshare") is None:
        raise ConfinementError("unshare is missing; it is in the package util-linux")
    sys.stdout.flush()
    return attend(command(module, arguments))


def attend(argv: Sequence[str]) -> int:
    """Runs a program that waits for its only child; returns the status that it exits with.

    SIGINT and SIGTERM are for the child, as SIGTERM: the program, as `unshare`, heeds neither. The
    child has to call `heed`. The program is killed when this process ends before it.
    """
    # Blocked until there is somebody to pass them on to, and in the child until it heeds them.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    # In a process group of its own, for no key of the terminal to interrupt what the child runs.
    with subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *argv], stdin=subprocess.DEVNULL, process_group=0
    ) as program:

        def pass_on(*_: object) -> None:
            children = procfs.children(program.pid)
            if not children:
                program.kill()
            for child in children:
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself meanwhile
                    os.kill(child, signal.SIGTERM)

        for number in _ENDING:
            signal.signal(number, pass_on)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        return program.wait()


def heed() -> None:
    """Makes of SIGTERM, which `attend` passes on, what Ctrl-C is elsewhere: KeyboardInterrupt.

    The first process of a PID namespace would not hear of it otherwise.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def prepare(address: str, networks: Sequence[ipaddress.IPv4Network]) -> None:
    """Gives the loopback interface an address, and every address of some networks.

    Raises ConfinementError: this process is not confined, and would change the machine's network;
    CommandError: `ip` refuses.
    """
    if os.getpid() != FIRST_PROCESS:
        raise ConfinementError("not confined: begin with `confinement.confine`")
    capture(["ip", "link", "set", "lo", "up"])
    capture(["ip", "address", "replace", f"{address}/32", "dev", "lo"])
    for network in networks:
        capture(["ip", "route", "replace", "local", str(network), "dev", "lo"])
