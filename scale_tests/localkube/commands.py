"""Running the machine's own programs."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from scale_tests.localkube.errors import LocalkubeError


class CommandError(LocalkubeError):
    """A program ended with an error; the message holds its command line and what it said."""


def run(argv: Sequence[str], *, stdin: str | None = None) -> str:
    """Runs a program and returns its standard output.

    Raises:
        CommandError: it ended with a status other than 0.
    """
    done = subprocess.run(
        argv,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise CommandError(f"`{' '.join(argv)}` ended with status {done.returncode}: {said}")
    return done.stdout
