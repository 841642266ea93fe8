"""Programs built from Go modules that a directory pins, once per version of the pins.

The user's cache keeps them under a hash of their inputs, which all checkouts share.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host import files
from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.progress import Progress
from scale_tests.localkube.settings import cache_directory

LINK_WEIGHT = 1_000_000
"""The cost of linking one program, in bytes of source that compile in the same time."""


@dataclass(frozen=True, kw_only=True)
class Toolset:
    """Programs that are built together, so that they share the packages they are compiled from."""

    name: str
    """The prefix of the name of their directory in the cache."""

    directory: Path
    """Holds go.mod, go.sum and, in directories below, the Go packages that are our own."""

    programs: Mapping[str, str]
    """By the name a program is kept under, the Go package it is made from."""

    tags: str = ""
    """Build tags, with commas between them."""

    linker_flags: str = "-s -w"
    """The default strips symbols."""

    @property
    def bin_directory(self) -> Path:
        """The directory of the programs, built or not."""
        digest = hashlib.sha256(" ".join(filter(None, (platform.machine(), self.tags))).encode())
        own = sorted(self.directory.glob("*/*.go"))
        for source in (self.directory / "go.mod", self.directory / "go.sum", *own):
            digest.update(source.read_bytes())
        return cache_directory() / "bin" / f"{self.name}-{digest.hexdigest()[:12]}"

    def ensure_built(self) -> Path:
        """Builds the programs unless cached; returns their directory. Raises ExpectedError."""
        target = self.bin_directory
        if target.is_dir():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        # Two processes that need them at once build them once.
        with files.locked(target.parent / f".{self.name}.lock"):
            if target.is_dir():
                return target
            if shutil.which("go") is None:
                raise ExpectedError(
                    "Go is missing: install Go 1.26 or newer (https://go.dev/doc/install)"
                )
            print(f"Building {', '.join(self.programs)} into {target}", flush=True)
            with files.made(target) as partial:
                self._compile(partial)
                for name, package in self.programs.items():
                    (partial / default_name(package)).rename(partial / name)
        return target

    def _compile(self, output: Path) -> None:
        """Runs `go build`, which names each package on standard error when it is done with it."""
        costs = self._costs()
        linking = LINK_WEIGHT * len(self.programs)
        progress = Progress("compiling", total=sum(costs.values()) + linking)

        def is_done(line: str) -> bool:
            progress.advance(costs.get(line.strip(), 0))
            return line.strip() in costs

        flags = ("-v", "-ldflags", self.linker_flags, "-o", f"{output}/")
        self._go("build", flags, subprocess.DEVNULL, is_done)
        progress.finish()

    def _costs(self) -> dict[str, int]:
        """The packages to compile, with the bytes of source of each; downloads missing modules."""
        template = '{{if .Stale}}{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles "/"}}{{end}}'
        progress = Progress("downloading modules")

        def is_download(line: str) -> bool:
            progress.advance(line.startswith("go: downloading"))
            return line.startswith("go: downloading")

        with tempfile.TemporaryFile("w+") as listing:
            self._go("list", ("-deps", "-f", template), listing, is_download)
            progress.finish()
            listing.seek(0)
            rows = [line.rstrip("\n").split("\t") for line in listing if line.strip()]
        return {
            package: sum(
                (Path(directory) / name).stat().st_size for name in names.split("/") if name
            )
            for package, directory, names in rows
        }

    def _go(
        self, command: str, flags: Sequence[str], output: object, seen: Callable[[str], bool]
    ) -> None:
        """Runs a command of Go for the programs; `seen` takes a line of progress, or is False.

        Raises ExpectedError with the end of the other lines.
        """
        variables = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
        other: list[str] = []
        # Compiling uses every core for minutes: all other processes have priority.
        with subprocess.Popen(  # type: ignore[call-overload]
            [
                *("nice", "-n", "5", "go", command, "-trimpath", "-tags", self.tags, *flags),
                *self.programs.values(),
            ],
            cwd=self.directory,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            other += [line for line in process.stderr if not seen(line)]
        if process.returncode != 0:
            raise ExpectedError(f"go {command} failed:\n" + "".join(other[-20:]))


def default_name(package: str) -> str:
    """The file name that `go build` gives to a package's program: a version suffix is dropped."""
    parts = package.split("/")
    return parts[-2] if re.fullmatch(r"v\d+", parts[-1]) else parts[-1]


def module_version(module: str, directory: Path) -> str:
    """The version of `module` that the go.mod of a directory requires. Raises ExpectedError."""
    go_mod = (directory / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if not found:
        raise ExpectedError(f"{directory}/go.mod requires no {module}")
    return found.group(1)
