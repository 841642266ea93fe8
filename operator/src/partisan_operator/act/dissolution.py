"""Orders the nodes of a cluster that is being deleted to stop repairing the overlay.

Otherwise the remaining nodes repair, redial and hand over while all of them are removed. The order
goes to a few nodes and floods the overlay. There is no finalizer: a deletion waits neither for
nodes nor for the operator, and if the operator misses it, it only takes longer.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import Kube
from partisan_operator.models import PartisanCluster
from partisan_operator.observe.observation import Endpoint, Observation
from partisan_operator.observe.observer import Observer
from partisan_operator.observe.scraper import RefusedError, ScrapeError, Scraper
from partisan_operator.observe.secrets import Credentials

RELAYS = 32
"""Nodes that get the order from the operator. Each floods it, so one is enough; more of them reach
every component of a partitioned overlay and shorten the path around a ring."""

ATTEMPTS = 3


def is_final(event: str | None, metadata: Mapping[str, Any]) -> bool:
    """Whether a cluster's nodes are deleted with it, by a watch event and the metadata.

    With `--cascade=orphan` they stay. With a foreign finalizer the children exist until that is
    removed, so the order waits.
    """
    finalizers = metadata.get("finalizers") or ()
    if "orphan" in finalizers:
        return False
    deleting = "deletionTimestamp" in metadata
    return event == "DELETED" or (deleting and "foregroundDeletion" in finalizers)


def spread(endpoints: Collection[Endpoint]) -> Sequence[Endpoint]:
    """Return the nodes that get the order from the operator: `RELAYS` at most, far apart."""
    ordered = sorted(endpoints, key=lambda endpoint: (len(endpoint.pod), endpoint.pod))
    return ordered[:: max(1, -(-len(ordered) // RELAYS))]


class Dissolution:
    """Addresses and credentials of one cluster's nodes, kept until its objects are gone."""

    def __init__(self, kube: Kube, observer: Observer, scraper: Scraper) -> None:
        """Begin without a cluster."""
        self._kube = kube
        self._observer = observer
        self._scraper = scraper
        self._uid = ""
        self._credentials: Credentials | None = None
        self._secrets: tuple[str, ...] = ()
        self._endpoints: Mapping[str, Endpoint] = {}
        self._log: logging.LoggerAdapter[logging.Logger]
        self._task: asyncio.Task[None] | None = None

    async def prepare(self, cluster: PartisanCluster, observation: Observation) -> None:
        """Keep the nodes' addresses and credentials: their Secret is deleted first."""
        if cluster.uid != self._uid:
            self._uid, self._credentials, self._task = cluster.uid, None, None
            self._log = logging.LoggerAdapter(
                logging.getLogger(__name__), {"cluster": f"{cluster.namespace}/{cluster.name}"}
            )
        self._endpoints = observation.endpoints
        nodes, known = self._endpoints.values(), self._credentials
        # A bearer is rotated by replacing its Secret.
        secrets = observation.bearer.uid, observation.token.uid
        if (
            known is None
            or secrets != self._secrets
            or any(known.of(node) is None for node in nodes)
        ):
            self._credentials = await self._observer.credentials(cluster, nodes)
            self._secrets = secrets

    async def is_due(self, cluster: PartisanCluster) -> bool:
        """Whether the cluster's namespace is being deleted: its pods may go before the cluster."""
        try:
            found = await self._kube.get("Namespace", cluster.namespace, "")
        except KubeError as error:
            if error.out_of_reach:
                return False  # The rights are those of an older chart.
            raise
        return found is not None and "deletionTimestamp" in found["metadata"]

    def begin(self) -> None:
        """Send the order once, in the background."""
        if self._credentials is None or self._task is not None:
            return
        if shown := self._credentials.reach(self._endpoints.values()):
            self._task = asyncio.create_task(self._order(shown), name="dissolution")

    async def _order(self, shown: Mapping[Endpoint, str]) -> None:
        relays = spread(shown)
        answers: list[bool] = []
        try:
            for _ in range(ATTEMPTS):
                async with self._kube.changing():
                    answers = await asyncio.gather(
                        *(self._send(endpoint, shown[endpoint]) for endpoint in relays)
                    )
                if any(answers):
                    break
        except KubeError as error:
            # Without the order the deletion only takes longer.
            self._log.warning("nodes were not ordered to stop repairs: %s", error)
            return
        self._log.info(
            "%d of %d nodes accepted the order to stop repairs: the cluster is being deleted",
            sum(answers),
            len(relays),
        )

    async def _send(self, endpoint: Endpoint, token: str) -> bool:
        try:
            await self._scraper.dissolve(endpoint, token)
        except RefusedError as error:
            # An older image does not know the order: a retry does not help.
            return not error.unauthorized
        except ScrapeError:
            return False
        return True
