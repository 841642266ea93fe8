"""Files and directories: locked, written in one step, known by a stamp, listed in an order."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Holds a file's lock while the block runs, alone or with others that share it.

    Waits for it. It ends with the process, however that ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


@contextmanager
def made(target: Path) -> Iterator[Path]:
    """A new directory, which becomes `target` when the block ends; an error leaves nothing.

    One that another process has put there meanwhile stays.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=target.parent))
    try:
        yield partial
        # The directory of a temporary file is its owner's alone.
        partial.chmod(0o755)
        partial.rename(target)
    except OSError:
        if not target.is_dir():
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def replace(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Writes a file so that readers see the previous content, or all of the new."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=mode)
    partial.write_text(text)
    partial.rename(path)


def below(directory: Path, ignored: Sequence[str]) -> Iterator[Path]:
    """The files below a directory in a fixed order, without directories of these patterns."""
    for place, subdirectories, names in os.walk(directory):
        kept = (d for d in subdirectories if not any(fnmatchcase(d, each) for each in ignored))
        subdirectories[:] = sorted(kept)
        yield from (Path(place, name) for name in sorted(names))


def is_current(stamp: Path, digest: str) -> bool:
    """Whether something was made from what has this digest, as its stamp says."""
    return stamp.exists() and stamp.read_text() == digest
