"""How long states have lasted, by a monotonic clock."""

from collections.abc import Callable, Iterable

from partisan_operator.models.problem import Reason

State = tuple[Reason, str]
"""A reason and the affected pod; empty for the cluster as a whole."""


class Durations:
    """The time since which each present state has lasted."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin without a state; `clock` returns seconds."""
        self._clock = clock
        self._since: dict[State, float] = {}

    def keep(self, present: Iterable[State], *, inherited: str = "") -> None:
        """Record the present states; all others have ended.

        States with the reason `inherited` count as having lasted for ever.
        """
        now = self._clock()
        self._since = {
            state: self._since.get(state, float("-inf") if state[0] == inherited else now)
            for state in present
        }

    def of(self, reason: Reason, pod: str = "") -> float:
        """Return the seconds for which a state has lasted; 0 if it is not present."""
        now = self._clock()
        return now - self._since.get((reason, pod), now)
