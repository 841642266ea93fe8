"""Runs `partisan_verify`: each command in a virtual machine of its own, one per CPU at a time."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from images.builder.catalogue import IMAGE_OTP
from scale_tests import otp
from scale_tests.benches.verify.plan import Job
from scale_tests.host.commands import ROOT, CommandError, capture
from scale_tests.measure.spread import Cell

SCRIPT = otp.RUNTIME / "scripts" / "partisan_verify"

OPERATOR = ROOT / "operator"

VIOLATED = 1
"""The exit status of a search that has found something."""


@dataclass(frozen=True, kw_only=True)
class Emulator:
    """An OTP release with our applications compiled."""

    release: str
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment that selects it; empty: this machine's."""


def emulators() -> list[Emulator]:
    """Compiles our applications on the images' release, and on this machine's.

    Raises CommandError.
    """
    variables = otp.environment(otp.ensure(IMAGE_OTP), IMAGE_OTP)
    expression = "io:put_chars(erlang:system_info(otp_release)), halt()."
    own = capture(["erl", "-noshell", "-eval", expression])
    found = [Emulator(release=IMAGE_OTP, variables=variables), Emulator(release=own)]
    for emulator in found:
        compiling = ["env", "-C", str(otp.RUNTIME), "rebar3", "compile"]
        capture(compiling, env=emulator.variables)
    return found


def run_all(
    jobs: Sequence[Job], emulator: Emulator, say: Callable[[str], None]
) -> list[list[Cell]]:
    """The cells of the jobs, in their order. Raises CommandError where one fails."""

    def one(job: Job) -> list[Cell]:
        cells = run(job, emulator)
        say(f"  {job.title}, OTP {emulator.release}")
        return cells

    with ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1)) as pool:
        return list(pool.map(one, jobs))


def run(job: Job, emulator: Emulator) -> list[Cell]:
    """The cells that one command writes. Raises CommandError if it fails."""
    argv = [str(SCRIPT), *job.arguments, "--json"]
    done = subprocess.run(
        argv,
        cwd=ROOT,
        env={**os.environ, **emulator.variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, VIOLATED) or not done.stdout:
        raise CommandError(argv, done.returncode, done.stdout + done.stderr)
    return [_named(json.loads(line)) | dict(job.fields) for line in done.stdout.splitlines()]


def _named(cell: Cell) -> Cell:
    """The cell with the names of counterexamples instead of their paths on this machine."""

    def named(one: Any) -> Any:
        return Path(one).name if isinstance(one, str) else one | {"file": Path(one["file"]).name}

    found = [named(one) for one in cell.get("counterexamples", ())]
    return cell | {"counterexamples": found} if found else cell


def rotation(*, mutation: str | None, quick: bool) -> Cell:
    """The cell of the operator's rotation of authorities. Raises CommandError."""
    changed = [f"--mutation={mutation}"] if mutation else []
    path = f"{OPERATOR / 'src'}{os.pathsep}{OPERATOR / 'tests'}"
    argv = [sys.executable, str(OPERATOR / "tests" / "rotation_search.py"), *changed]
    found = capture([*argv, *(["--quick"] if quick else [])], env={"PYTHONPATH": path})
    cell: Cell = json.loads(found)
    return cell | {"part": "own", "quick": quick}
