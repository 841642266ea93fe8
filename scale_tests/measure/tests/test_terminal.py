"""The end of a command."""

import os
import signal

import pytest

from scale_tests.measure import terminal


def raising(error: BaseException) -> int:
    raise error


def test_the_status_is_the_commands_own() -> None:
    assert terminal.run(lambda: 3, OSError, interrupted=".") == 3


def test_an_expected_error_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal.run(lambda: raising(OSError("no [disk]")), OSError, interrupted=".") == 1
    assert capsys.readouterr().err == "error: no [disk]\n"


def test_any_other_error_is_a_defect() -> None:
    with pytest.raises(KeyError):
        terminal.run(lambda: raising(KeyError("x")), OSError, interrupted=".")


def test_an_interruption_reports_what_it_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    status = terminal.run(lambda: raising(KeyboardInterrupt()), interrupted=": it runs on.")
    assert status == terminal.INTERRUPTED
    assert capsys.readouterr().out == "\nInterrupted: it runs on.\n"


def test_a_termination_is_an_interruption() -> None:
    def terminated() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return 0

    before = signal.getsignal(signal.SIGTERM)
    assert terminal.run(terminated, interrupted=".") == terminal.INTERRUPTED
    assert signal.getsignal(signal.SIGTERM) == before
