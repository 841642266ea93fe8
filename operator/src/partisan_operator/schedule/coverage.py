"""How much of a cluster the next observation covers."""

from partisan_operator.models import PartisanCluster
from partisan_operator.observe.observer import Extent

_NEVER = float("-inf")


class Coverage:
    """The extent of recent observations of one cluster, and whether they found it settled."""

    def __init__(self, resync_period: float) -> None:
        """Begin with a cluster that was never observed; `resync_period` in seconds."""
        self._resync_period = resync_period
        self._complete_at = _NEVER
        self.at_rest = False
        """Whether all observed objects were as wanted, and nothing was left to do."""

        self.was_ready = False
        """Whether all pods were ready at some time."""

        self._guarded = False

    def make_resync_due(self) -> None:
        """Make the next observation cover children of all kinds."""
        self._complete_at = _NEVER

    def begin(self, cluster: PartisanCluster, now: float, *, woken: bool) -> Extent:
        """Return the extent of an observation that begins now.

        According to the watches, a cluster at rest that no event woke has not changed. The resync
        compensates for events that they missed.
        """
        resting, self.at_rest = self.at_rest, False  # unknown until the reconcile has ended
        if (
            cluster.status.observed_generation != cluster.generation
            or now - self._complete_at >= self._resync_period
        ):
            return Extent.ALL
        return Extent.NODES if resting and not woken else Extent.PODS

    def completed(self, began: float, *, ready: bool) -> None:
        """Record that an observation of all kinds, begun at that time, was acted on.

        `ready` is whether all pods were: if not, guards that are missing were left out.
        """
        self._complete_at = began
        self._guarded = ready

    def record_ready(self) -> bool:
        """Record that all pods are ready; return whether guards may have been left out before.

        They are created by the next observation, which is complete then.
        """
        self.was_ready = True
        left_out, self._guarded = not self._guarded, True
        if left_out:
            self.make_resync_due()
        return left_out
