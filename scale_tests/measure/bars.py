"""Claims about what was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A claim, checked: what was found, and what it is held to."""

    name: str
    value: float | bool | str | None
    bar: str
    ok: bool | None
    """None: nothing was run of which the claim speaks. It is neither held nor missed."""

    @property
    def found(self) -> str:
        """The value, as people read it."""
        return "-" if self.value is None else str(self.value)

    @property
    def verdict(self) -> str:
        """Whether the claim holds, as people read it."""
        if self.ok is None:
            return "not run"
        return "ok" if self.ok else "MISSED"
