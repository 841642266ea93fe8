"""Runs the programs that build images."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from scale_tests.host.commands import CommandError, capture
from scale_tests.localkube.settings import cache_directory


class ImageError(Exception):
    """An image cannot be built; the message is the reason."""


def files_below(directory: Path, ignored: Sequence[str]) -> Iterator[Path]:
    """The files below a directory in a fixed order, without directories of these patterns."""
    for place, subdirectories, names in os.walk(directory):
        kept = (d for d in subdirectories if not any(fnmatchcase(d, each) for each in ignored))
        subdirectories[:] = sorted(kept)
        yield from (Path(place, name) for name in sorted(names))


def is_current(stamp: Path, digest: str) -> bool:
    """Whether something was made from what has this digest, as its stamp says."""
    return stamp.exists() and stamp.read_text() == digest


def run(argv: Sequence[str]) -> str:
    """Runs a program; returns its standard output, stripped. Raises ImageError."""
    try:
        return capture(argv).strip()
    except FileNotFoundError as error:
        raise ImageError(f"{error.filename} is missing: python3 -m scale_tests.bootstrap") from None
    except CommandError as error:
        raise ImageError(str(error)) from error


def buildah(*arguments: str) -> str:
    """Runs buildah on a store of its own; returns its standard output. Raises ImageError."""
    store = cache_directory() / "buildah"
    return run(
        [
            *("nice", "-n", "5", "buildah"),
            *("--root", str(store / "root"), "--runroot", str(store / "run")),
            *arguments,
        ]
    )
