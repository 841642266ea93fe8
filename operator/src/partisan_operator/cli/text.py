"""Figures and tables for a terminal."""

from collections.abc import Sequence
from datetime import datetime

from partisan_operator.models import clock

_STEERING = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (9, 10)}


def harmless(text: str) -> str:
    r"""Return text without the characters that steer a terminal: nodes are not trusted.

    >>> harmless("a\tb\n") == "a\tb\n", harmless("\x1b[2J") == "\ufffd[2J"
    (True, True)
    """
    return text.translate(_STEERING)


def size(count: float) -> str:
    """Return a number of bytes in powers of 1,000.

    >>> size(999), size(1234), size(56_000_000)
    ('999 B', '1.2 kB', '56.0 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} B"


def duration(seconds: float) -> str:
    """Return a time span in its two largest units.

    >>> duration(5.4), duration(75), duration(7300), duration(180000)
    ('5s', '1m15s', '2h1m', '2d2h')
    """
    whole = max(0, int(seconds))
    units = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
    parts: list[str] = []
    for unit, length in units:
        count, whole = divmod(whole, length)
        if count or parts or unit == "s":
            parts.append(f"{count}{unit}")
    return "".join(parts[:2])


def since(time: str | None, now: datetime) -> str:
    """Return how long ago a time in RFC 3339 was; a dash if there is none."""
    return duration((now - clock.parse(time)).total_seconds()) if time else "-"


def plural(count: int, noun: str, ending: str = "s") -> str:
    """Return a count with its noun.

    >>> plural(1, "node"), plural(3, "node"), plural(2, "process", "es")
    ('1 node', '3 nodes', '2 processes')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{ending}"


def table(rows: Sequence[Sequence[str]], *, numbers: int = 0, indent: str = "") -> str:
    """Return rows in columns as wide as their widest cell.

    The last `numbers` columns are figures and end at their right edge.
    """
    if not rows:
        return ""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    first = len(widths) - numbers
    return "\n".join(
        indent
        + "  ".join(
            cell.ljust(width) if index < first else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
