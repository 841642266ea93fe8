"""The account of the counter after each fault, and at the end of the count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scale_tests.benches.churn.timeline import Phase, Sample


@dataclass(frozen=True, kw_only=True)
class Account:
    """What the replicas held when the account of a fault was right.

    While all count, every replica is behind by what is on its way: it holds all that was due, and
    not more than had been made.
    """

    name: str
    due: int
    """Increments made until all nodes were one component again, without those lost by then."""
    least: int
    """What the last of the replicas held."""
    largest: int
    """What the first of them held."""
    made: int
    """Increments made by then."""
    lost: int
    """Of those: counted by nodes that were killed before they synchronised."""


def accounts(
    phases: Sequence[Phase], samples: Sequence[Sample], last: Sample | None
) -> list[Account]:
    """The accounts of the phases that came to one, and that of the end, `last`, if it came."""
    at = {sample.seconds: sample for sample in samples}
    found = [
        _account(phase.name, due=at[phase.whole_at].accounted, held=at[phase.accounted_at])
        for phase in phases
        if phase.whole_at is not None and phase.accounted_at is not None
    ]
    if last is not None:
        found.append(_account("end of the count", due=last.accounted, held=last))
    return found


def _account(name: str, *, due: int, held: Sample) -> Account:
    run = held.cluster.workload
    least, largest = held.values
    return Account(
        name=name,
        due=due,
        least=least,
        largest=largest,
        made=run.increments_sum,
        lost=run.lost_increments,
    )
