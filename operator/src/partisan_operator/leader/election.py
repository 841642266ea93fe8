"""Leader election: the rules of a Lease, without a clock or a connection.

Several operators may run; the one that holds the Lease acts. The rules are those of Kubernetes' own
components: a holder renews the Lease, and another candidate acquires it when it has not changed for
its duration.

== Why two never act at once ==

Clocks are never compared. A candidate measures, by its own monotonic clock, for how long it has
seen the Lease unchanged; the times in the Lease are for people. The holder counts from when it
*sent* the last successful renewal, all others from when they *saw* it, which is later. The holder
stops `duration - deadline` seconds before another may begin: a margin for clock drift over one
duration, and for requests in flight. A write names the version of the Lease that it replaces, so
one of two candidates that acquire it at once fails.
"""

from dataclasses import dataclass, replace

_NEVER = float("-inf")


@dataclass(frozen=True)
class Timing:
    """Durations in seconds; `period < deadline < duration`."""

    duration: float = 15.0
    """Others may take the Lease when it has not changed for this long."""

    deadline: float = 10.0
    """The holder stops acting when it has not renewed for this long."""

    period: float = 2.0
    """Time between two renewals, and between two reads of a candidate that waits."""


@dataclass(frozen=True)
class Record:
    """The contents of a Lease."""

    version: str
    """Its resource version, which changes with each write."""

    holder: str
    """Identity of the holder; empty when the last one released it."""

    duration: float
    """Seconds for which it is valid after a change was seen."""

    transitions: int = 0
    """Number of changes of the holder."""


@dataclass(frozen=True)
class Claim:
    """A Lease to write."""

    version: str | None
    """The version that it replaces; None where there is no Lease yet."""

    transitions: int
    acquires: bool
    """Whether the holder changes."""


@dataclass(frozen=True)
class Candidate:
    """One operator's view of the Lease. All times are seconds of its own monotonic clock."""

    identity: str
    """Its name, unique among all processes ever."""

    timing: Timing = Timing()
    record: Record | None = None
    """The Lease as last seen; None when there was none."""

    other_until: float = _NEVER
    """Until when another candidate may act, as far as observed. The deletion of the Lease does not
    end that."""

    leads_until: float = _NEVER
    """Until when this candidate may act."""

    def saw(self, record: Record | None, now: float) -> "Candidate":
        """Return the candidate after a read of the Lease; None means that there is none."""
        if record == self.record:
            return self
        if record is None:
            return replace(self, record=None, leads_until=_NEVER)
        if record.holder == self.identity:
            return replace(self, record=record, other_until=_NEVER)
        other_until = now + record.duration if record.holder else _NEVER
        return replace(self, record=record, other_until=other_until, leads_until=_NEVER)

    def wrote(self, record: Record, sent_at: float) -> "Candidate":
        """Return the candidate after its claim, sent at that time, was written."""
        leads_until = sent_at + self.timing.deadline
        return replace(self, record=record, other_until=_NEVER, leads_until=leads_until)

    def claim(self, now: float) -> Claim | None:
        """Return the Lease to write now; None while another holder's is valid."""
        if now < self.other_until:
            return None
        if self.record is None:
            return Claim(version=None, transitions=0, acquires=True)
        if self.record.holder == self.identity:
            return Claim(self.record.version, self.record.transitions, acquires=False)
        return Claim(self.record.version, self.record.transitions + 1, acquires=True)

    def leads(self, now: float) -> bool:
        """Whether this candidate may act."""
        return now < self.leads_until

    def pause(self, now: float) -> float:
        """Return the seconds until the next step is due."""
        due = now + self.timing.period
        for end in (self.leads_until, self.other_until):
            if end > now:
                due = min(due, end)
        return due - now
