"""The last changes, bounded in bytes, and the documents before the first of them."""

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from partisan_operator.console.patches import Document, apply

MAX_BYTES = 16 * 1024 * 1024
"""Bytes of changes that are kept, as they go over the wire. The oldest ones give way."""

_OVERHEAD = 256
"""Bytes that a change occupies besides its text, so that many tiny ones are bounded too."""


class Part(NamedTuple):
    """A part of the document: a cluster's summary or details."""

    section: Literal["clusters", "details"]
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """The key of the cluster within the section."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class Change:
    """A change of one part, encoded once for all viewers."""

    sequence: int
    part: Part
    data: bytes
    """JSON: `sequence`, `at` (seconds since 1970) and `patch`, of the whole document."""

    @classmethod
    def of(cls, sequence: int, part: Part, at: float, patch: Document | None) -> "Change":
        """Encode a change; the patch None removes the part."""
        whole = {part.section: {part.key: patch}}
        return cls(sequence, part, encoded({"sequence": sequence, "at": at, "patch": whole}))


def encoded(value: Any) -> bytes:
    """Return a value as JSON on one line."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


class History:
    """The last changes of one epoch."""

    def __init__(self, limit: int = MAX_BYTES) -> None:
        """Begin without a change; `limit` in bytes."""
        self._limit = limit
        self._changes: deque[Change] = deque()
        self._base: dict[Part, Document] = {}
        self.size = 0
        """Bytes of the changes."""

    def append(self, change: Change) -> None:
        """Add a change; the oldest ones leave as far as the limit requires."""
        self._changes.append(change)
        self.size += len(change.data) + _OVERHEAD
        while self.size > self._limit:
            oldest = self._changes.popleft()
            self.size -= len(oldest.data) + _OVERHEAD
            patch = json.loads(oldest.data)["patch"][oldest.part.section][oldest.part.key]
            if patch is None:
                self._base.pop(oldest.part, None)
            else:
                self._base[oldest.part] = apply(self._base.get(oldest.part, {}), patch)

    def since(self, sequence: int, newest: int) -> list[Change] | None:
        """Return the changes after one, up to the `newest`; None if some of them are gone."""
        if sequence > newest or (sequence < newest and not self._changes):
            return None
        if self._changes and sequence < self._changes[0].sequence - 1:
            return None
        return [change for change in self._changes if change.sequence > sequence]

    def base(self) -> Iterator[tuple[Part, Document]]:
        """Yield each part of the document as it was before the oldest change kept."""
        yield from self._base.items()

    def changes(self) -> tuple[Change, ...]:
        """Return all changes kept, oldest first."""
        return tuple(self._changes)
