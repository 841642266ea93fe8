"""The file of a backup, as nodes write and read it.

`workload_backup` of the runtime has the format and the same checks. The state is a map of keys to
counts, in which the join of two states is the larger count of each key. The checksum detects
damage, not forgery.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

MAX_BYTES = 2**20
"""Bytes of the values of a ConfigMap or Secret."""

_VERSION = 1
_FORMAT = re.compile(rb"partisan-backup ([1-9][0-9]*)\n")
_TRAILER = re.compile(rb"sha256 ([0-9a-f]{64})\n")
_TRAILER_BYTES = 72
_HEADER = re.compile(
    r"partisan-backup 1\ncluster (?P<cluster>[!-~]+)\nnamespace (?P<namespace>[!-~]+)\n"
    r"workload (?P<workload>[!-~]+)\ntaken (?P<taken>[0-9T:.+-]+Z)\n"
    r"(?P<parameters>(parameter [!-~]+ [!-~]+\n)*)"
)
_ENTRY = re.compile(r"(?P<key>[!-~]{1,256}) (?P<count>[1-9][0-9]{0,18})")
_MAX_COUNT = 2**63 - 1


class BackupError(Exception):
    """The file is not a backup that this version can use; the text completes a sentence on it."""


@dataclass(frozen=True)
class Backup:
    """The state of a workload."""

    cluster: str
    namespace: str
    workload: str
    """The module of the workload."""

    taken: str
    """When, RFC 3339 in UTC."""

    parameters: Mapping[str, str]
    """Of the workload, as text."""

    entries: Mapping[str, int]

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return sum(self.entries.values())

    def render(self) -> bytes:
        """Return the file."""
        lines = [
            f"partisan-backup {_VERSION}",
            f"cluster {self.cluster}",
            f"namespace {self.namespace}",
            f"workload {self.workload}",
            f"taken {self.taken}",
            *(f"parameter {name} {value}" for name, value in sorted(self.parameters.items())),
            "",
            *(f"{key} {count}" for key, count in sorted(self.entries.items())),
        ]
        content = "".join(f"{line}\n" for line in lines).encode("ascii")
        return content + b"sha256 " + checksum(content).encode() + b"\n"


def checksum(content: bytes) -> str:
    """Return the checksum of what precedes it in a file."""
    return hashlib.sha256(content).hexdigest()


def parse(data: bytes) -> Backup:
    """Read a file: its format and checksum before anything else. Raises `BackupError`."""
    if not data:
        raise BackupError("is empty")
    if len(data) > MAX_BYTES:
        raise BackupError("has more than 1 MiB, which no ConfigMap or Secret holds")
    found = _FORMAT.match(data)
    if found is None:
        raise BackupError("is not a backup: it does not begin with partisan-backup and a number")
    # As text: Python refuses to convert thousands of digits.
    if (version := found[1].decode()) != str(_VERSION):
        raise BackupError(f"has the format {version:.20}, of a later release: upgrade the plugin")
    content, trailer = data[:-_TRAILER_BYTES], _TRAILER.fullmatch(data[-_TRAILER_BYTES:])
    if trailer is None:
        raise BackupError("is truncated: its last line is no checksum")
    if trailer[1].decode() != checksum(content):
        raise BackupError("is corrupt: its content does not match its checksum")
    header, separator, lines = content.partition(b"\n\n")
    try:
        return _parsed((header + b"\n").decode("ascii"), lines.decode("ascii"), bool(separator))
    except UnicodeDecodeError:
        raise BackupError("is malformed: it has bytes that are no text") from None


def join(backups: Iterable[Backup]) -> Backup:
    """Return the join of the states of one or more replicas, with the time of the last one."""
    first, *others = backups
    entries = dict(first.entries)
    for other in others:
        for key, count in other.entries.items():
            entries[key] = max(count, entries.get(key, 0))
    return replace(
        first, entries=entries, taken=max((first.taken, *(other.taken for other in others)))
    )


def _parsed(header: str, lines: str, complete: bool) -> Backup:
    fields = _HEADER.fullmatch(header)
    if fields is None or not complete:
        raise BackupError("is malformed: its header is not that of a backup")
    parameters: dict[str, str] = {}
    for line in fields["parameters"].splitlines():
        _, name, value = line.split(" ")
        if name in parameters:
            raise BackupError(f"is malformed: it has two values of {name}")
        parameters[name] = value
    return Backup(
        cluster=fields["cluster"],
        namespace=fields["namespace"],
        workload=fields["workload"],
        taken=fields["taken"],
        parameters=parameters,
        entries=_entries(lines.split("\n")),
    )


def _entries(lines: Iterable[str]) -> dict[str, int]:
    """Read the entries, which are in strictly ascending order. Raises `BackupError`."""
    *complete, last = lines
    if last:
        raise BackupError("is malformed: its last entry does not end")
    entries: dict[str, int] = {}
    before = ""
    for line in complete:
        found = _ENTRY.fullmatch(line)
        if found is None or int(found["count"]) > _MAX_COUNT:
            raise BackupError(f"is malformed: no entry follows {before or 'its header'}")
        if found["key"] <= before:
            raise BackupError(f"is malformed: {found['key']} is out of order")
        before = found["key"]
        entries[before] = int(found["count"])
    return entries
