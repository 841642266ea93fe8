"""Times as the API server writes them."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the present, in UTC."""
    return datetime.now(UTC)


def to_wire(time: datetime) -> str:
    """Return a time as RFC 3339 text with milliseconds."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse(text: str) -> datetime:
    """Read RFC 3339 text."""
    return datetime.fromisoformat(text)


def from_unix(seconds: float) -> datetime:
    """Return the time that many seconds after the beginning of 1970."""
    return datetime.fromtimestamp(seconds, UTC)


def seconds_between(earlier: str | None, later: str | None) -> float | None:
    """Return the seconds between two times in text form; None unless both are known."""
    if earlier is None or later is None:
        return None
    return (parse(later) - parse(earlier)).total_seconds()
