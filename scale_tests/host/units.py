"""Units, and how figures are written in them."""

MIB, GIB = float(1 << 20), float(1 << 30)
"""In bytes."""


def seconds(value: float | None, *, never: str = "-") -> str:
    """A time, or what stands for one that did not come or is not known."""
    return never if value is None else f"{value:.1f}"


def size(count: float) -> str:
    """A number of bytes as people read it, in powers of 1,000."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable: the last unit takes all")
