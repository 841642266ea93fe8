"""Writes the status of clusters, and the Events that follow from its changes."""

import logging

from partisan_operator.act.events import announce
from partisan_operator.api import metrics
from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import Kube
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.models.clock import seconds_between
from partisan_operator.models.status import Timings
from partisan_operator.status.announcements import Announcement, announcements
from partisan_operator.status.audience import Audience
from partisan_operator.status.writing import worth_writing


class Reporter:
    """Reports on one cluster."""

    def __init__(
        self, kube: Kube, audience: Audience, log: logging.LoggerAdapter[logging.Logger]
    ) -> None:
        self._kube, self._audience, self._log = kube, audience, log

    async def report(self, cluster: PartisanCluster, status: PartisanClusterStatus) -> None:
        """Write a status that differs enough, and the Events of it. Raises `KubeError`."""
        if not worth_writing(status, cluster.status):
            return
        await self._kube.apply_status(cluster, status.to_wire())
        for announcement in announcements(cluster.status, status):
            await self.announce(cluster, announcement)
        _measure(cluster.status.timings, status.timings)

    async def scaled(self, cluster: PartisanCluster, before: int, after: int) -> None:
        """Announce that a plan changed the number of requested pods."""
        message = f"From {before} to {after} nodes"
        await self.announce(cluster, Announcement("Normal", "Scaled", message))

    async def adopted(self, cluster: PartisanCluster, names: tuple[str, ...]) -> None:
        """Announce that a plan adopted these orphans."""
        message = f"Of an earlier cluster of this name: {', '.join(names)}"
        await self.announce(cluster, Announcement("Normal", "Adopted", message))

    async def announce(self, cluster: PartisanCluster, announcement: Announcement) -> None:
        """Write an Event. A failure blocks nothing: the status reports the same."""
        self._log.info("%s: %s", announcement.reason, announcement.message)
        self._audience.announced(cluster, announcement)
        try:
            await announce(self._kube, cluster, announcement)
        except KubeError as error:
            self._log.warning("the Event was not written: %s", error)


def _measure(old: Timings, new: Timings) -> None:
    """Observe milestones that were reached since the last status."""
    if new.ready_at and new.ready_at != old.ready_at:
        seconds = seconds_between(new.applied_at, new.ready_at) or 0.0
        metrics.apply_to_ready_seconds.observe(seconds)
    if new.joined_at and new.joined_at != old.joined_at:
        seconds = seconds_between(new.applied_at, new.joined_at) or 0.0
        metrics.apply_to_joined_seconds.observe(seconds)
