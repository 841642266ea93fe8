"""When a status is worth writing, and when a cluster is settled."""

from __future__ import annotations

from typing import Any

from partisan_operator.models import PartisanClusterStatus, clock
from partisan_operator.models.status import Phase

REFRESH_SECONDS = 5.0
"""Time between two writes of the status of a cluster at work when only moving figures changed."""


def worth_writing(new: PartisanClusterStatus, live: PartisanClusterStatus) -> bool:
    """Say whether the new status tells enough to be written over the live one.

    Traffic and the number of links move for ever. In a cluster at work they are written now and
    then; in a settled one never, so that it costs the API server nothing.
    """
    if _lasting(new) != _lasting(live):
        return True
    settled = new.phase in (Phase.READY, Phase.CONVERGED, Phase.PAUSED)
    if new.observed_at == live.observed_at:
        return False  # no figure is newer, as after a failure
    age = clock.seconds_between(live.observed_at, new.observed_at)
    # A time to come is of another operator, whose clock was ahead of this one's.
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
