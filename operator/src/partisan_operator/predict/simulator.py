"""Finds and runs the program `partisan_plan`.

It is part of the node: `erlang_node/scripts/partisan_plan` in a checkout, and
`/opt/partisan/bin/partisan_plan` in the node's image. Without an Erlang runtime, a container engine
runs it in the image that the pods will run.
"""

import json
import os
import shlex
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

PROGRAM = "partisan_plan"
IN_IMAGE = f"/opt/partisan/bin/{PROGRAM}"
VARIABLE = "PARTISAN_PLAN"
"""Environment variable with the program and its arguments, which overrides the search."""

ENGINES = ("docker", "podman", "nerdctl")

Progress = Callable[[str], None]
"""Called with lines on the progress of a simulation."""


class SimulatorError(Exception):
    """The simulator is missing or failed; the text has the remedy."""


@dataclass(frozen=True)
class Simulator:
    """A command that simulates the configuration on its standard input."""

    argv: tuple[str, ...]

    def run(
        self, config: str, arguments: Mapping[str, int], *, timeout: float, progress: Progress
    ) -> dict[str, Any]:
        """Simulate the cluster of a `node.config`; `timeout` is in seconds.

        Raises `SimulatorError` if it fails, rejects the configuration, or exceeds the timeout.
        """
        argv = [*self.argv, *(f"{key}={value}" for key, value in arguments.items())]
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise SimulatorError(f"{argv[0]} cannot be run ({error.strerror}): {HELP}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        written: list[str] = []
        reader = threading.Thread(target=_follow, args=(process.stderr, written, progress))
        expired = threading.Event()
        late = threading.Timer(timeout, _expire, args=(process, expired))
        with process:
            reader.start()
            late.start()
            try:
                _feed(process.stdin, config)
                output = process.stdout.read()
            except BaseException:
                process.kill()
                raise
            finally:
                reader.join()
                late.cancel()
        if expired.is_set():
            raise SimulatorError(
                f"not done after {timeout:.0f} s: give --timeout, or a smaller --budget to predict "
                "from smaller clusters"
            )
        if process.returncode != 0:
            last = written[-1] if written else f"exit status {process.returncode}"
            raise SimulatorError(last.removeprefix(f"{PROGRAM}: "))
        try:
            answer = json.loads(output)
        except ValueError:
            raise SimulatorError(f"{argv[0]} did not answer with JSON: {HELP}") from None
        if not isinstance(answer, dict) or "moments" not in answer:
            raise SimulatorError(f"{argv[0]} did not answer with a simulation: {HELP}")
        return answer


HELP = (
    f"the simulator is {PROGRAM}: put erlang_node/scripts/{PROGRAM} of a checkout on the PATH,"
    " after `rebar3 compile` there (Erlang/OTP 25 or later); or install docker or podman and set"
    " the node's image by --image"
)


def find(*, command: str = "", image: str = "") -> Simulator:
    """Return the simulator.

    In this order: `command` or the variable `PARTISAN_PLAN`; `image` in a container; the program on
    the PATH. Raises `SimulatorError` if there is none.
    """
    given = command or os.environ.get(VARIABLE, "")
    if given.strip():
        try:
            return Simulator(tuple(shlex.split(given)))
        except ValueError as error:
            raise SimulatorError(f"{given!r} is no command ({error}): {HELP}") from None
    if not image and shutil.which(PROGRAM):
        return Simulator((PROGRAM,))
    engines = [engine for engine in ENGINES if shutil.which(engine)]
    if image and engines:
        return in_container(engines[0], image)
    if image:
        raise SimulatorError(
            f"--image needs one of {', '.join(ENGINES)} on the PATH: install one, or "
            f"leave --image out and install {PROGRAM}: {HELP}"
        )
    raise SimulatorError(HELP)


def in_container(engine: str, image: str) -> Simulator:
    """Return the simulator in an image of the node, without network or disk."""
    options = ("--rm", "--interactive", "--network=none", "--read-only", f"--entrypoint={IN_IMAGE}")
    return Simulator((engine, "run", *options, image))


def _expire(process: subprocess.Popen[str], expired: threading.Event) -> None:
    expired.set()
    process.kill()


def _feed(stdin: IO[str], config: str) -> None:
    """Write the configuration; a program that has ended reports the reason itself."""
    with suppress(BrokenPipeError):
        stdin.write(config)
    with suppress(BrokenPipeError):
        stdin.close()


def _follow(stream: IO[str], written: list[str], progress: Progress) -> None:
    for line in stream:
        written.append(line.rstrip())
        progress(line.rstrip())
