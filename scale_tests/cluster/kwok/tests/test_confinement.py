"""A confined process ends with the one that started it, in order or not."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from scale_tests.cluster.kwok import confinement
from scale_tests.cluster.kwok.control_plane import PODS
from scale_tests.host.commands import ROOT, ExpectedError

ATTENDANT = """
import sys
from scale_tests.cluster.kwok import confinement
sys.exit(confinement.attend(sys.argv[1:]))
"""

STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.exit(subprocess.call(sys.argv[1:]))
"""
"""A process that ignores signals, as `unshare` does."""

MEASUREMENT = """
import signal, sys
from scale_tests.cluster.kwok import confinement
print("begun", flush=True)
try:
    confinement.heed()
    print("heeds", flush=True)
    signal.pause()
except KeyboardInterrupt:
    print("tidied", flush=True)
    sys.exit(7)
"""


@pytest.fixture
def attendant() -> Iterator[subprocess.Popen[str]]:
    """A process that attends a measurement."""
    python = (sys.executable, "-c")
    # It dies with the stubborn one, as with `unshare --kill-child`.
    measurement = ("setpriv", "--pdeathsig", "KILL", *python, MEASUREMENT)
    with subprocess.Popen(
        [*python, ATTENDANT, *python, STUBBORN, *measurement],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    assert word in iter(lambda: said(process), "")


def said(process: subprocess.Popen[str]) -> str:
    """The next word; empty once no process is left that could write one."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["begun", "heeds"])
def test_a_measurement_that_is_to_end_ends_in_order(
    attendant: subprocess.Popen[str], number: signal.Signals, moment: str
) -> None:
    wait_for(attendant, moment)
    attendant.send_signal(number)
    wait_for(attendant, "tidied")
    assert attendant.wait() == 7
    assert said(attendant) == ""


def test_a_measurement_ends_with_its_attendant(attendant: subprocess.Popen[str]) -> None:
    wait_for(attendant, "heeds")
    attendant.kill()
    assert said(attendant) == ""


def test_it_is_the_first_process_of_its_namespaces() -> None:
    argv = confinement.command("a.b", ["c"])
    assert argv[0] == "unshare"
    assert {"--net", "--pid", "--kill-child"} <= set(argv)
    assert argv[-3:] == ["-m", "a.b", "c"]


def test_the_machines_own_network_is_never_changed() -> None:
    with pytest.raises(ExpectedError, match="not confined"):
        confinement.prepare("192.0.2.1", [PODS])
