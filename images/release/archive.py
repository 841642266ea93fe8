"""Archives that are the same bytes for the same contents: no owners, no times, a fixed order."""

import gzip
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

EXECUTABLE, PLAIN = 0o755, 0o644
_GZIP = b"\x1f\x8b"


def tar(files: Mapping[str, bytes], *, executable: Iterable[str] = ()) -> bytes:
    """A tar of files by path, with the directories above them."""
    programs = set(executable)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as target:
        for directory in _directories(files):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, EXECUTABLE
            target.addfile(entry)
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), EXECUTABLE if path in programs else PLAIN
            target.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def compressed(content: bytes) -> bytes:
    """The content as gzip does, without a time and a name."""
    return gzip.compress(content, compresslevel=6, mtime=0)


def uncompressed(content: bytes) -> bytes:
    """The content of a gzip file, or content that is not compressed."""
    return gzip.decompress(content) if content.startswith(_GZIP) else content


def members(content: bytes) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """The entries of a tar, compressed or not, with the contents of those that are files."""
    with tarfile.open(fileobj=io.BytesIO(content)) as source:
        for entry in source:
            file = source.extractfile(entry) if entry.isreg() else None
            yield entry, file.read() if file else b""


def replaced(content: bytes, files: Mapping[str, bytes], leave_out: Iterable[str]) -> bytes:
    """An uncompressed tar with files replaced or added, and others left out; paths without `./`.

    An added file has the metadata of a plain one. Raises KeyError for a hard link to a file that
    is left out.
    """
    missing, gone = dict(files), set(leave_out) - set(files)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as target:
        there = set()
        for entry, old in members(content):
            path = plain(entry.name)
            there.add(path)
            if path in gone:
                continue
            if entry.islnk() and plain(entry.linkname) in gone:
                raise KeyError(f"{path} is a link to {entry.linkname}")
            new = missing.pop(path, old)
            entry.size = len(new)
            target.addfile(entry, io.BytesIO(new) if entry.isreg() else None)
        for directory in _directories(missing):
            if directory not in there:
                entry = tarfile.TarInfo(directory)
                entry.type, entry.mode = tarfile.DIRTYPE, EXECUTABLE
                target.addfile(entry)
        for path, new in sorted(missing.items()):
            entry = tarfile.TarInfo(path)
            entry.size = len(new)
            target.addfile(entry, io.BytesIO(new))
    return buffer.getvalue()


def plain(path: str) -> str:
    """A path of an archive without `./` and slashes at its ends."""
    return path.removeprefix("./").strip("/")


def _directories(paths: Iterable[str]) -> list[str]:
    parents = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return sorted(parents - {"."})
