"""The turns of clusters to follow a new default image, over all clusters of this operator.

The rules are in `decide.fleet`, the state in the clusters' status. This memory only spares lists,
and bridges the time from a decision to the status that shows it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import Kube, Query
from partisan_operator.decide.fleet import Hold, hold, unlisted
from partisan_operator.models import PartisanCluster
from partisan_operator.models.cluster import KIND
from partisan_operator.models.status import FleetRollout
from partisan_operator.observe.fleet import Member, member_of, read_member

LIFETIME = 5.0
"""Seconds for which a list of all clusters, or its failure, serves the decisions of all loops."""

ReadMembers = Callable[[], Awaitable[tuple[Member, ...]]]


class Fleet:
    """Decides for one cluster at a time."""

    def __init__(
        self, read: ReadMembers, limit: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make a fleet of which `limit` clusters roll at a time; 0: all of them, without a halt."""
        self._read, self._limit, self._clock = read, limit, clock
        self._lock = asyncio.Lock()
        self._members: dict[tuple[str, str], Member] = {}
        self._read_at = float("-inf")
        self._failure = ""
        self._admitted: set[tuple[str, str]] = set()

    async def hold(self, cluster: PartisanCluster, image: str) -> Hold | None:
        """Return why a cluster waits with the default image; None if it may follow it now."""
        own = member_of(cluster)
        if not self._limit or own.image == image:
            return None
        async with self._lock:
            if self._clock() - self._read_at >= LIFETIME:
                await self._list()
            self._admitted = {key for key in self._admitted if self._unseen(key, image)}
            if own.key in self._admitted:
                return None
            if self._failure:
                return unlisted(image, self._failure)
            fleet = self._members | {own.key: own}
            for key in self._admitted:
                fleet[key] = replace(fleet[key], image=image, rollout=FleetRollout.ROLLING)
            found = hold(own, tuple(fleet.values()), image, self._limit)
            if found is None:
                self._admitted.add(own.key)
                self._members[own.key] = own
            return found

    async def _list(self) -> None:
        try:
            self._members = {member.key: member for member in await self._read()}
            self._failure = ""
        except KubeError as error:
            self._failure = str(error)
        self._read_at = self._clock()

    def _unseen(self, key: tuple[str, str], image: str) -> bool:
        """Whether the status of an admitted cluster does not show the image yet."""
        member = self._members.get(key)
        return member is not None and member.image != image


def members_of(
    kube: Kube, namespaces: tuple[str, ...], excluded: Callable[[str], bool]
) -> ReadMembers:
    """Return what lists the members in these namespaces, or in all if there are none.

    `excluded` is whether another operator serves a namespace, with another default image, or none
    may serve it.
    """

    async def read() -> tuple[Member, ...]:
        # Not from the API server's cache: a previous leader may just have written.
        lists = [
            await kube.find(KIND, namespace, Query(consistent=True))
            for namespace in namespaces or ("",)
        ]
        found = (read_member(item) for items in lists for item in items)
        return tuple(
            member for member in found if member is not None and not excluded(member.namespace)
        )

    return read


async def _no_members() -> tuple[Member, ...]:
    return ()


def unlimited() -> Fleet:
    """Return a fleet that holds no cluster up."""
    return Fleet(_no_members, 0)
