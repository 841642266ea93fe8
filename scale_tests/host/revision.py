"""Earlier revisions of this repository, unpacked next to the checkout."""

import tarfile
from pathlib import Path

from scale_tests.host import files
from scale_tests.host.commands import capture


def commit(revision: str) -> str:
    """The commit that git knows by this name, in twelve characters. Raises CommandError."""
    return capture(["git", "rev-parse", "--verify", "--short=12", f"{revision}^{{commit}}"]).strip()


def unpack(commit_: str, directory: Path) -> Path:
    """Unpacks a commit's files into a directory of its own, unless they are there; returns it.

    Raises CommandError.
    """
    target = directory / commit_
    if not target.exists():
        with files.made(target) as partial:
            archive = partial / "source.tar"
            capture(["git", "archive", f"--output={archive}", commit_])
            with tarfile.open(archive) as tar:
                tar.extractall(partial, filter="data")
            archive.unlink()
    return target
