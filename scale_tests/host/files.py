"""Files and directories that are written in one step, and files that are locks."""

import fcntl
import shutil
import tempfile
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
