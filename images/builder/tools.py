"""Runs the programs that build images."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from scale_tests.host.commands import capture
from scale_tests.localkube.settings import cache_directory


def files_below(directory: Path, ignored: Sequence[str]) -> Iterator[Path]:
    """The files below a directory in a fixed order, without directories of these patterns."""
    for place, subdirectories, names in os.walk(directory):
        kept = (d for d in subdirectories if not any(fnmatchcase(d, each) for each in ignored))
        subdirectories[:] = sorted(kept)
        yield from (Path(place, name) for name in sorted(names))


def is_current(stamp: Path, digest: str) -> bool:
    """Whether something was made from what has this digest, as its stamp says."""
    return stamp.exists() and stamp.read_text() == digest


def buildah(*arguments: str) -> str:
    """Runs buildah on a store of its own; returns its output, stripped. Raises CommandError."""
    store = cache_directory() / "buildah"
    own = ("--root", str(store / "root"), "--runroot", str(store / "run"))
    return capture(["nice", "-n", "5", "buildah", *own, *arguments]).strip()
