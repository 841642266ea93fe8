"""The namespaces that an operator of all namespaces has claimed.

It claims each namespace that has clusters by the Lease there, for which operators of that namespace
compete. So of two operators that would both serve it, one holds the Lease, and the other does
nothing there.

The holder of a claim is the Lease of all namespaces rather than a process: only the process that
holds that one renews claims, and its successor goes on with them. They are valid for longer than
that Lease, since there may be many.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from partisan_operator.api import metrics
from partisan_operator.api.fence import Fence
from partisan_operator.api.kube import Kube
from partisan_operator.leader.election import Candidate, Timing
from partisan_operator.leader.leadership import Leadership
from partisan_operator.leader.lease import Lease

TIMING = Timing(duration=60.0, deadline=40.0, period=10.0)
"""After the end of an operator, another one waits for the duration."""


@dataclass(frozen=True)
class _Claim:
    lease: Lease
    leadership: Leadership
    renewal: asyncio.Task[None]


class Claims:
    """The claims of the process that holds the Lease of all namespaces."""

    def __init__(
        self,
        kube: Kube,
        holder: str,
        *,
        gained: Callable[[str], None],
        lost: Callable[[str], Awaitable[None]],
        refused: Callable[[str, str], Awaitable[None]],
    ) -> None:
        """Make no claim yet.

        `gained` is called with a namespace when its clusters may be served, and `lost` awaited when
        they may no longer. `refused` is awaited with a namespace and the API server's answer each
        time that it refuses the Lease there although no operator holds it.
        """
        self._kube, self._holder = kube, holder
        self._gained, self._lost, self._refused = gained, lost, refused
        self._claims: dict[str, _Claim] = {}
        self._endings: set[asyncio.Task[None]] = set()

    def claim(self, namespace: str) -> None:
        """Claim a namespace, now or when its holder gives it up."""
        if namespace in self._claims:
            return

        async def lost() -> None:
            # Another claim of the namespace may hold it by now.
            if not self.hold(namespace):
                await self._lost(namespace)

        lease = Lease(self._kube, namespace)
        leadership = Leadership(
            lease,
            Candidate(self._holder, TIMING),
            # Writes pass the fence of the Lease of all namespaces. The loss of a claim ends the
            # loops, long before another operator may begin.
            Fence(),
            gained=lambda: self._gained(namespace),
            lost=lost,
            refused=lambda answer: self._refused(namespace, answer),
        )
        renewal = asyncio.create_task(leadership.run(), name=f"claim {namespace}")
        self._claims[namespace] = _Claim(lease, leadership, renewal)

    def release(self, namespace: str) -> None:
        """Give a namespace without clusters up, for another operator to serve it."""
        claim = self._claims.pop(namespace, None)
        if claim is not None:
            ending = asyncio.create_task(self._end(claim, resigns=True))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    async def stop(self) -> None:
        """Renew no claim any more; they stay, for the successor."""
        claims, self._claims = tuple(self._claims.values()), {}
        await asyncio.gather(*(self._end(claim) for claim in claims), *self._endings)

    def hold(self, namespace: str) -> bool:
        """Whether the clusters of a namespace may be served."""
        claim = self._claims.get(namespace)
        return claim is not None and claim.leadership.leading

    @property
    def excluded(self) -> dict[str, str]:
        """The namespaces that another operator serves, with the holder of the Lease there."""
        return {
            namespace: claim.leadership.holder
            for namespace, claim in self._claims.items()
            if self._is_excluded(claim)
        }

    @property
    def refused(self) -> dict[str, str]:
        """The namespaces whose Lease the API server refuses, with its answer."""
        return {
            namespace: claim.leadership.refusal
            for namespace, claim in self._claims.items()
            if claim.leadership.refusal
        }

    def excludes(self, namespace: str) -> bool:
        """Whether a namespace is known not to be served here."""
        claim = self._claims.get(namespace)
        return claim is not None and (self._is_excluded(claim) or bool(claim.leadership.refusal))

    @property
    def stuck(self) -> list[str]:
        """The state of each claim whose renewal is stuck."""
        found = (claim.leadership for claim in self._claims.values())
        return [leadership.state for leadership in found if leadership.stuck]

    @property
    def obstacle(self) -> str:
        """Why some namespace is neither served nor known to be served; empty if none is.

        A refused Lease is no obstacle: a quota in one namespace does not make the operator unready.
        """
        found = (
            claim.leadership.obstacle
            for claim in self._claims.values()
            if not claim.leadership.refusal
        )
        return next(filter(None, found), "")

    def _is_excluded(self, claim: _Claim) -> bool:
        leadership = claim.leadership
        others = leadership.holder not in ("", self._holder)
        return others and not leadership.leading and not leadership.refusal

    async def _end(self, claim: _Claim, *, resigns: bool = False) -> None:
        claim.renewal.cancel()
        await asyncio.gather(claim.renewal, return_exceptions=True)
        if resigns:
            await claim.leadership.resign()
        if claim.lease.namespace not in self._claims:
            metrics.leader.remove(str(claim.lease))
            metrics.lease_refused.remove(str(claim.lease))
