"""Programs that run for as long as a block, with a log each."""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from scale_tests.host.commands import ROOT, ExpectedError
from scale_tests.localkube import waiting

START_LIMIT = 120.0
"""Seconds that a program may take until it is ready, on a busy machine."""

_LAST_WORDS = 2000


@contextmanager
def running(
    name: str,
    argv: Sequence[str],
    logs: Path,
    *,
    obstacle: Callable[[], str],
    variables: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """Runs a program while the block runs; waits for no `obstacle`, and yields the process id.

    It is killed in the end. Raises ExpectedError: it is not ready in time, or exits.
    """
    log = logs / f"{name}.log"
    with (
        log.open("ab") as output,
        subprocess.Popen(
            argv,
            cwd=ROOT,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        ) as process,
    ):
        try:
            _wait(name, process, log, obstacle)
            yield process.pid
        finally:
            # Whatever else went wrong, it is for this.
            _require_running(name, process, log)
            process.kill()


def _wait(
    name: str, process: subprocess.Popen[bytes], log: Path, obstacle: Callable[[], str]
) -> None:
    def remaining() -> str:
        _require_running(name, process, log)
        return obstacle()

    try:
        waiting.until_none(remaining, seconds=START_LIMIT)
    except waiting.TimedOutError as error:
        raise ExpectedError(f"{name} is not ready: {error}\n{_tail(log)}") from error


def _require_running(name: str, process: subprocess.Popen[bytes], log: Path) -> None:
    if process.poll() is not None:
        raise ExpectedError(f"{name} ended with {process.returncode}:\n{_tail(log)}")


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-_LAST_WORDS:]
