"""Durations and sizes as people write them."""

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZES = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def seconds(text: str) -> float:
    """The seconds of a duration such as `500ms`, `10s` or `1m30s`. Raises ValueError."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != text or total <= 0:
        raise ValueError(f"{text!r} is no duration: write one such as 500ms, 10s or 30m")
    return total


def duration(of_seconds: float) -> str:
    """The same in whole milliseconds, as a PartisanCluster takes it."""
    return f"{round(of_seconds * 1000)}ms"


def amount(value: float | str) -> float:
    """A number, or a size such as `41.8GiB` in bytes. Raises ValueError: it is neither."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]iB|B|)", str(value))
    if not match:
        raise ValueError(f"{value!r} is no amount: write a number, or bytes such as 41.8GiB")
    return float(match[1]) * _SIZES[match[2]]
