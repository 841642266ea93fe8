"""`python -m scale_tests.measure.judge.linearizable FILE...`: whether histories are linearizable.

Files are those that `ring_registers:write/2` of the runtime writes: operations on keys with one
writer. Prints a line for each; exits with 1 unless all are linearizable.
"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from scale_tests.host.commands import CommandError, relative
from scale_tests.localkube.toolset import Toolset
from scale_tests.measure import terminal

TOOLSET = Toolset(
    name="judge",
    directory=Path(__file__).with_name("tools"),
    programs={"linearizable": "./linearizable"},
)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The judgement of one file; keys are numbered as in it."""

    file: Path
    operations: int
    keys: int
    wrong: tuple[int, ...]
    """Keys whose operations have no linearization."""
    unknown: tuple[int, ...]
    """Keys that could not be judged in ten minutes."""

    @property
    def linearizable(self) -> bool:
        """Whether every key is."""
        return not self.wrong and not self.unknown

    def __str__(self) -> str:
        judged = f"{relative(self.file)}: {self.operations} operations on {self.keys} keys"
        if self.linearizable:
            return f"{judged}: linearizable"
        unknown = f"; not judged in time: {list(self.unknown)}" if self.unknown else ""
        return f"{judged}: NOT linearizable: {list(self.wrong)}{unknown}"


def judge(files: Sequence[Path]) -> list[Verdict]:
    """Judges files. Raises CommandError: a file cannot be read; ExpectedError."""
    argv = [str(TOOLSET.ensure_built() / "linearizable"), *map(str, files)]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise CommandError(argv, done.returncode, done.stdout + done.stderr)
    return [TypeAdapter(Verdict).validate_json(line) for line in done.stdout.splitlines()]


def main(arguments: Sequence[str]) -> int:
    """Prints the verdicts; returns the exit status."""

    def run() -> int:
        verdicts = judge([Path(name) for name in arguments])
        for verdict in verdicts:
            print(verdict)
        return 0 if all(verdict.linearizable for verdict in verdicts) else 1

    return terminal.run(run, interrupted=".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
