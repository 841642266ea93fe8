"""When a status is worth writing, and when a cluster is settled."""

from typing import Any

from partisan_operator.models import PartisanClusterStatus, clock
from partisan_operator.models.status import Phase

REFRESH_SECONDS = 5.0
"""Seconds between two writes of the status of a cluster at work, if only moving figures changed."""


def worth_writing(new: PartisanClusterStatus, live: PartisanClusterStatus) -> bool:
    """Whether the new status differs enough from the live one to be written.

    Traffic and the number of links always move. For a cluster at work they are written from time to
    time, for a settled one never, which saves the API server the load.
    """
    if _lasting(new) != _lasting(live):
        return True
    settled = new.phase in (Phase.READY, Phase.CONVERGED, Phase.PAUSED)
    if new.observed_at == live.observed_at:
        return False  # no figure is newer, as after a failure
    age = clock.seconds_between(live.observed_at, new.observed_at)
    # A future time was written by an operator whose clock was ahead.
    return not settled and (age is None or not 0 <= age < REFRESH_SECONDS)


def is_settled(status: PartisanClusterStatus) -> bool:
    """Whether nothing is expected to happen soon."""
    waiting = status.workload is not None and status.workload.phase != "Finished"
    ready = status.phase is Phase.READY and not waiting
    return ready or status.phase in (Phase.CONVERGED, Phase.PAUSED)


def _lasting(status: PartisanClusterStatus) -> dict[str, Any]:
    wire = status.to_wire()
    for name in ("observedAt", "channels"):
        wire.pop(name, None)
    for name in ("meanDegree", "links"):
        (wire.get("overlay") or {}).pop(name, None)
    for name in ("bytes", "observedAt"):
        (wire.get("workload") or {}).pop(name, None)
    return wire
