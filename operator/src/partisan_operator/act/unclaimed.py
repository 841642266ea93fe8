"""Events of clusters in namespaces that the API server does not let this operator claim.

Only the holder of a claim writes a cluster's status. An Event needs none: it says what this
operator does, and the operator that serves the cluster later leaves it alone.
"""

import logging
from collections.abc import Callable, Iterable

from partisan_operator.act.events import announce
from partisan_operator.api.errors import KubeError
from partisan_operator.api.fence import steady_clock
from partisan_operator.api.kube import Kube
from partisan_operator.leader.claims import TIMING
from partisan_operator.leader.lease import NAME
from partisan_operator.models import PartisanCluster
from partisan_operator.models.cluster import KIND
from partisan_operator.models.problem import shortened
from partisan_operator.status.announcements import Announcement

logger = logging.getLogger(__name__)

REPEATED_AFTER = 1800.0
"""Seconds after which an Event is repeated: Kubernetes deletes it an hour after its last change."""


def lease_refused(namespace: str, answer: str) -> Announcement:
    """Return the Event of a cluster whose namespace cannot be claimed."""
    return Announcement(
        "Warning",
        "LeaseRefused",
        f"The operator does not serve namespace {namespace}: the API server refuses Lease"
        f" {namespace}/{NAME}, which no operator holds: {shortened(answer)}. Allow this Lease in"
        " the quota (count/leases.coordination.k8s.io) or the policy that the message names; the"
        f" operator tries again every {TIMING.period:.0f} s.",
        recurs=True,
    )


class UnclaimedNamespaces:
    """Writes these Events, and repeats them before they expire."""

    def __init__(self, kube: Kube, clock: Callable[[], float] = steady_clock) -> None:
        """Make one that has announced nothing yet."""
        self._kube, self._clock = kube, clock
        self._announced: dict[tuple[str, str], float] = {}

    async def announce(self, namespace: str, names: Iterable[str], answer: str) -> None:
        """Write the Events that are due for these clusters, with the API server's answer.

        A failure is logged, and the Event due again at the next call.
        """
        now = self._clock()
        for name in names:
            if now - self._announced.get((namespace, name), float("-inf")) < REPEATED_AFTER:
                continue
            try:
                manifest = await self._kube.get(KIND, namespace, name)
                if manifest is not None:
                    cluster = PartisanCluster.from_wire(manifest)
                    await announce(self._kube, cluster, lease_refused(namespace, answer))
                    self._announced[namespace, name] = now
            except (KubeError, ValueError) as error:
                logger.warning("%s/%s: the Event was not written: %s", namespace, name, error)

    def forget(self, namespace: str, name: str) -> None:
        """Forget a deleted cluster: another one of its name is announced anew."""
        self._announced.pop((namespace, name), None)
