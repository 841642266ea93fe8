"""Units, and how figures are written in them."""

from __future__ import annotations

MIB, GIB = float(1 << 20), float(1 << 30)
"""In bytes."""


def seconds(value: float | None, *, never: str = "-") -> str:
    """A time, or what stands for one that did not come or is not known."""
    return never if value is None else f"{value:.1f}"
