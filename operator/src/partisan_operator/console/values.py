"""Values that the page shows of what nodes and users say: bounded, and harmless as text."""

import math

MAX_TEXT = 2048
"""Characters of the longest text, as the status bounds messages."""

_EXACT = 2**53 - 1
"""The greatest integer that a browser's number represents exactly."""


def text(value: str, limit: int = MAX_TEXT) -> str:
    """Return text of bounded length without control characters, such as those that reverse it."""
    return "".join(letter if letter.isprintable() else " " for letter in value[:limit])


def figure(value: float | None) -> float | int | None:
    """Return a figure that a browser represents exactly; None if it is unknown or not finite."""
    if value is None or not math.isfinite(value):
        return None
    bounded = min(max(value, -_EXACT), _EXACT)
    return bounded if isinstance(bounded, int) else round(bounded, 3)
