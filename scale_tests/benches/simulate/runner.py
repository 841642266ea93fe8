"""Runs experiments: each in a virtual machine of its own, one per CPU at a time."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

from scale_tests import otp
from scale_tests.benches.simulate.plan import Job
from scale_tests.host.commands import CommandError

SCRIPT = otp.RUNTIME / "scripts" / "simulate.escript"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The figures of one job, and its time."""

    job: Job
    cells: list[dict[str, Any]]
    """As the simulator reported them."""
    seconds: float
    cpu_seconds: float
    otp: str
    """The OTP release that it ran on."""


def run_all(jobs: Sequence[Job]) -> list[Outcome]:
    """Runs the jobs and returns their outcomes in the same order; progress goes to stderr.

    Raises CommandError where an experiment failed, with its output.
    """
    with ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1)) as pool:
        return list(pool.map(run, jobs))


def run(job: Job) -> Outcome:
    """Runs one job. Raises CommandError if it fails."""
    argv, written = [str(SCRIPT), *job.arguments()], []
    with (
        TemporaryFile("w+") as output,
        subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        for line in process.stderr or ():
            written.append(line.rstrip())
            sys.stderr.write(line)
        status = process.wait()
        output.seek(0)
        lines = list(output)
    # Of one that fails the last lines are Erlang's report of it, and no JSON.
    if status != 0 or not lines or "finished" not in lines[-1]:
        raise CommandError(argv, status, "\n".join(written))
    return outcome(job, [json.loads(line) for line in lines])


def outcome(job: Job, lines: Sequence[dict[str, Any]]) -> Outcome:
    """The outcome of an experiment's lines; the last of them has its time."""
    *cells, finished = lines
    last = {name: finished[name] for name in ("seconds", "cpu_seconds", "otp")}
    return Outcome(job=job, cells=cells, **last)
