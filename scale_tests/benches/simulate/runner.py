"""Running experiments: each in a virtual machine of its own, as many at once as there are CPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, Any

from scale_tests import otp
from scale_tests.benches.simulate.plan import Job
from scale_tests.host.commands import CommandError
from scale_tests.measure.figure import Measured

SCRIPT = otp.RUNTIME / "scripts" / "simulate.escript"

_progress = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came out of one job, and what it took."""

    job: Job
    cells: list[Measured] = field(default_factory=list)
    seconds: float
    cpu_seconds: float
    otp: str
    """The OTP release that it ran on."""


def run_all(jobs: Sequence[Job]) -> list[Outcome]:
    """Runs the jobs and returns their outcomes in the same order; progress goes to stderr.

    Raises:
        CommandError: an experiment failed, with what it wrote.
    """
    with ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1)) as pool:
        return list(pool.map(run, jobs))


def run(job: Job) -> Outcome:
    """Runs one job. Raises CommandError if it fails."""
    argv = [str(SCRIPT), *job.arguments()]
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        written: list[str] = []
        pump = threading.Thread(target=_pump, args=(process.stderr, written))
        pump.start()
        # Of one that fails the last lines are Erlang's report of it, and no JSON.
        lines = list(process.stdout)
        pump.join()
    if process.returncode != 0 or not lines or "finished" not in lines[-1]:
        raise CommandError(argv, process.returncode, "\n".join(written))
    return outcome(job, [json.loads(line) for line in lines])


def outcome(job: Job, lines: Sequence[dict[str, Any]]) -> Outcome:
    """The outcome that an experiment's lines amount to; the last of them says what it took."""
    *cells, finished = lines
    return Outcome(
        job=job,
        cells=[Measured(**cell, seed=job.seed) for cell in cells],
        seconds=finished["seconds"],
        cpu_seconds=finished["cpu_seconds"],
        otp=finished["otp"],
    )


def _pump(stream: IO[str], written: list[str]) -> None:
    """Shows what an experiment says, line by line, and keeps it for an error's message."""
    for line in stream:
        written.append(line.rstrip())
        with _progress:
            sys.stderr.write(line)
