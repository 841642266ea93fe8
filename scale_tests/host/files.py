"""Files that are written in one step, and files that are locks."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
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


def replace(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Writes a file so that readers see the previous content, or all of the new."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=mode)
    partial.write_text(text)
    partial.rename(path)
