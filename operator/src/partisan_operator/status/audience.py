"""Receives what the loops of clusters find out. This one ignores everything."""

from collections.abc import Callable

from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.observe.observation import Observation
from partisan_operator.status.announcements import Announcement


class Audience:
    """The audience of an operator without a live page."""

    def began(self, wake: Callable[[str, str], None]) -> None:
        """Learn that this operator leads; `wake` ends the pause of a cluster's loop."""

    def ended(self) -> None:
        """Learn that this operator no longer leads."""

    def observed(
        self, cluster: PartisanCluster, status: PartisanClusterStatus, observation: Observation
    ) -> None:
        """Receive the result of a reconcile."""

    def failed(self, cluster: PartisanCluster, status: PartisanClusterStatus) -> None:
        """Receive the status of a cluster that could not be reconciled."""

    def announced(self, cluster: PartisanCluster, announcement: Announcement) -> None:
        """Receive an Event of a cluster."""

    def forgotten(self, namespace: str, name: str) -> None:
        """Learn that a cluster is gone."""

    def watches(self, cluster: PartisanCluster) -> bool:
        """Whether the details of a cluster are wanted, with the traffic of its links."""
        return False

    def pause(self, cluster: PartisanCluster, pause: float, elapsed: float) -> float:
        """Return the seconds until the next reconcile of a cluster: `pause`, or less.

        `elapsed` are the seconds since the present one began.
        """
        return pause
