"""The times of a cluster's milestones, by its own clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Seconds:
    """From the apply to milestones, by the cluster's clock; None for one that was not reached."""

    apply_to_ready: float | None
    apply_to_joined: float | None
    apply_to_converged: float | None


def seconds(timings: dict[str, str]) -> Seconds:
    """The milestones of `status.timings` as seconds since the apply."""

    def since_apply(milestone: str) -> float | None:
        applied, reached = timings.get("appliedAt"), timings.get(milestone)
        if not applied or not reached:
            return None
        elapsed = datetime.fromisoformat(reached) - datetime.fromisoformat(applied)
        return round(elapsed.total_seconds(), 3)

    return Seconds(
        apply_to_ready=since_apply("readyAt"),
        apply_to_joined=since_apply("joinedAt"),
        apply_to_converged=since_apply("convergedAt"),
    )
