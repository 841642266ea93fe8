"""Runs the programs that build images."""

from __future__ import annotations

from collections.abc import Sequence

from scale_tests.host.commands import CommandError, capture
from scale_tests.localkube.settings import cache_directory


class ImageError(Exception):
    """An image cannot be built; the message is the reason."""


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
