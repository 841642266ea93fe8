"""Who may act: the rules of a Lease, without a clock or a connection of their own.

Several operators may run; the one that holds the Lease acts. The rules are those of Kubernetes'
own components: a holder renews the Lease again and again, and another one takes it when it has
not changed for as long as it says that it lasts.

== Why two never act at once ==

No two clocks are ever compared. A candidate measures, by its own steady clock, since when it has
seen the Lease unchanged; what the Lease says of times is for people. The holder counts from when
it *sent* the last renewal that succeeded, everybody else from when they *saw* it, which is later.
The holder stops `duration - deadline` seconds before anybody else may begin, which is what clocks
may differ in pace over one duration, and what a request on its way may take to arrive.
A write names the version of the Lease that it replaces, so that of two who take it one fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_NEVER = float("-inf")


@dataclass(frozen=True)
class Timing:
    """How long what lasts, in seconds; `period < deadline < duration`."""

    duration: float = 15.0
    """Others may take the Lease when it has not changed for this long."""

    deadline: float = 10.0
    """The holder stops acting when it has not renewed for this long."""

    period: float = 2.0
    """Time between two renewals, and between two looks of those who wait."""


@dataclass(frozen=True)
class Record:
    """What a Lease says."""

    version: str
    """Its resource version: another one means that somebody wrote it."""

    holder: str
    """Identity of the holder; empty when the last one gave it back."""

    duration: float
    """For how long, in seconds, it counts from when somebody sees it change."""

    transitions: int = 0
    """How often it went to another holder."""


@dataclass(frozen=True)
class Claim:
    """A Lease to write."""

    version: str | None
    """The version that it replaces; None where there is no Lease yet."""

    transitions: int
    acquires: bool
    """Whether it goes to another holder by that."""


@dataclass(frozen=True)
class Candidate:
    """What one operator knows of the Lease. All times are seconds of its own steady clock."""

    identity: str
    """Its name, which no other process ever had or will have."""

    timing: Timing = Timing()
    record: Record | None = None
    """The Lease as last seen; None when there was none."""

    other_until: float = _NEVER
    """Until when another candidate may act, as far as was seen. A Lease that somebody deletes does
    not end that."""

    leads_until: float = _NEVER
    """Until when this candidate may act."""

    def saw(self, record: Record | None, now: float) -> Candidate:
        """Return the candidate after a look at the Lease; None means that there is none."""
        if record == self.record:
            return self
        if record is None:
            return replace(self, record=None, leads_until=_NEVER)
        if record.holder == self.identity:
            return replace(self, record=record, other_until=_NEVER)
        other_until = now + record.duration if record.holder else _NEVER
        return replace(self, record=record, other_until=other_until, leads_until=_NEVER)

    def wrote(self, record: Record, sent_at: float) -> Candidate:
        """Return the candidate after its claim, sent at that time, was written."""
        leads_until = sent_at + self.timing.deadline
        return replace(self, record=record, other_until=_NEVER, leads_until=leads_until)

    def claim(self, now: float) -> Claim | None:
        """Return the Lease to write now; None while another holder's counts."""
        if now < self.other_until:
            return None
        if self.record is None:
            return Claim(version=None, transitions=0, acquires=True)
        if self.record.holder == self.identity:
            return Claim(self.record.version, self.record.transitions, acquires=False)
        return Claim(self.record.version, self.record.transitions + 1, acquires=True)

    def leads(self, now: float) -> bool:
        """Say whether this candidate may act."""
        return now < self.leads_until

    def pause(self, now: float) -> float:
        """Return the seconds until something is to be done, if nothing happens meanwhile."""
        due = now + self.timing.period
        for end in (self.leads_until, self.other_until):
            if end > now:
                due = min(due, end)
        return due - now
