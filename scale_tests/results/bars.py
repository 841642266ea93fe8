"""Claims about what was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A claim, checked: what was found, and what it is held to."""

    name: str
    value: float | bool | str | None
    bar: str
    ok: bool
