"""An application under development: how it is compiled, its modules and its sources."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from partisan_operator.cli.access import CommandError

_SOURCES = (".erl", ".hrl", ".xrl", ".yrl", ".src", ".config", ".ex", ".exs")
_SKIPPED = ("_build", "deps")
"""Directories of compiled code and of dependencies."""


@dataclass(frozen=True)
class Project:
    """A directory, the shell command that compiles it, and the patterns of its modules' files."""

    directory: Path
    build: str
    beams: tuple[str, ...]

    def modules(self) -> list[bytes]:
        """Return the compiled modules. Raises `CommandError` if there are none."""
        try:
            files = sorted(file for beam in self.beams for file in self.directory.glob(beam))
        except (NotImplementedError, ValueError):
            raise CommandError(
                f"--beams {self.beams[0]!r} is no pattern of files below {self.directory}, such as"
                " ebin/*.beam"
            ) from None
        if not files:
            raise CommandError(
                f"{self.build!r} left no file {' or '.join(self.beams)}: set --beams"
            )
        return [file.read_bytes() for file in files]


def project_in(directory: Path, *, build: str, beams: str) -> Project:
    """Return the project of a directory; empty arguments stand for what rebar3 or mix does.

    Raises `CommandError` if the directory is of neither.
    """
    rebar, mix = directory / "rebar.config", directory / "mix.exs"
    if build and beams:
        return Project(directory, build, (beams,))
    if rebar.is_file():
        command, made = "rebar3 compile", "_build/default"
        names = [file.name.removesuffix(".app.src") for file in _each(directory, "src/*.app.src")]
    elif mix.is_file():
        command, made = "mix compile", f"_build/{os.environ.get('MIX_ENV') or 'dev'}"
        found = (
            re.search(r"\bapp:\s*:(\w+)", file.read_text("utf-8", "replace"))
            for file in _each(directory, "mix.exs")
        )
        names = [match[1] for match in found if match]
    else:
        raise CommandError(
            f"{directory.absolute()} has no rebar.config and no mix.exs: name another directory, or"
            " set both --build and --beams"
        )
    # Not the dependencies, which are next to them.
    own = tuple(f"{made}/lib/{name}/ebin/*.beam" for name in names)
    return Project(directory, build or command, (beams,) if beams else own)


def run_in(directory: Path, command: str) -> None:
    """Run a shell command, whose output is that of this process.

    Raises `CommandError` if it fails.
    """
    if subprocess.run(["sh", "-c", command], cwd=directory, check=False).returncode != 0:
        raise CommandError(f"{command!r} failed, its output is above")


def sources(directory: Path) -> dict[str, int]:
    """Return the time of the last change of each source file, in nanoseconds."""
    found = {}
    for file in _files(directory):
        if file.suffix in _SOURCES or file.name == "Dockerfile":
            try:
                found[str(file)] = file.stat().st_mtime_ns
            except FileNotFoundError:
                # An editor replaces the file at this moment.
                found[str(file)] = 0
    return found


def _each(directory: Path, pattern: str) -> list[Path]:
    """Return files of the application in a directory, or of those below `apps`."""
    return sorted([*directory.glob(pattern), *directory.glob(f"apps/*/{pattern}")])


def _files(directory: Path) -> Iterator[Path]:
    for parent, directories, names in os.walk(directory):
        kept = (name for name in directories if name not in _SKIPPED and name[0] != ".")
        directories[:] = sorted(kept)
        yield from (Path(parent, name) for name in names)
