"""Pauses between failed reconciles, and when a failure is worth a report."""

from collections.abc import Callable

FIRST_PAUSE, LAST_PAUSE = 1.0, 30.0
"""Seconds between a failure and the next attempt, doubled after each one."""

TRANSIENT_FOR = 5.0
"""Seconds of consecutive failures after which they count as persistent."""


class Retries:
    """The consecutive failures of one cluster's reconciles."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin without a failure."""
        self._clock = clock
        self.succeeded()

    def succeeded(self) -> None:
        """Reset after a success."""
        self._since: float | None = None
        self._pause = FIRST_PAUSE

    def failed(self) -> float:
        """Count a failure; return the seconds to wait before the next attempt."""
        if self._since is None:
            self._since = self._clock()
        present, self._pause = self._pause, min(2 * self._pause, LAST_PAUSE)
        return present

    @property
    def persist(self) -> bool:
        """Whether the failures have lasted too long to be transient."""
        return self._since is not None and self._clock() - self._since >= TRANSIENT_FOR
