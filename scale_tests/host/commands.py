"""Running the command line tools: git, helm, kubectl and this repository's own modules."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
"""The root of the repository; all commands run there."""


def relative(path: Path) -> Path:
    """A path as people are shown it: from the root of the repository, if it is in there."""
    path = path.resolve()
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


class ExpectedError(Exception):
    """The end of a command in one line, without a traceback: the reason, and often the remedy."""


class CommandError(ExpectedError):
    """A command ended with an error; the message holds its output."""

    def __init__(self, argv: Sequence[str], status: int, output: str) -> None:
        self.status = status
        self.output = output.strip()
        super().__init__(f"`{' '.join(argv)}` failed with status {status}:\n{self.output}")


def capture(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str | None = None
) -> str:
    """Runs `argv`; returns its standard output. Raises CommandError with all that it wrote."""
    return _run(argv, env, input=stdin or "", capture_output=True).stdout


def lines(
    argv: Sequence[str], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Runs `argv`; yields the lines of its standard output. Raises CommandError after the last.

    It is killed when the caller reads no further.
    """
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield from process.stdout
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise CommandError(argv, process.returncode, "its output is above")


def stream(argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
    """Runs `argv` with this process's own standard output, for progress. Raises CommandError."""
    _run(argv, env, stdin=subprocess.DEVNULL)


def _run(
    argv: Sequence[str], env: Mapping[str, str] | None, **streams: Any
) -> subprocess.CompletedProcess[str]:
    """Runs `argv` in the repository's root. Raises CommandError, also for a missing program."""
    try:
        done = subprocess.run(
            argv, cwd=ROOT, env={**os.environ, **(env or {})}, text=True, check=False, **streams
        )
    except FileNotFoundError as error:
        missing = f"{error.filename} is missing: python3 -m scale_tests.bootstrap"
        raise CommandError(argv, 127, missing) from None
    if done.returncode != 0:
        output = "its output is above" if done.stdout is None else done.stdout + done.stderr
        raise CommandError(argv, done.returncode, output)
    return done
