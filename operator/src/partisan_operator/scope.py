"""The clusters that one Lease covers: all of them, or those of one namespace.

This process reconciles them while it holds the Lease. It always watches them, so that it knows them
when it takes over. A scope of all namespaces also claims each of them: `leader.claims`.
"""

import asyncio

from kubernetes.aio.client import ApiClient

from partisan_operator.act.executor import Executor
from partisan_operator.act.unclaimed import UnclaimedNamespaces
from partisan_operator.api.fence import Fence
from partisan_operator.api.kube import Kube
from partisan_operator.leader.claims import Claims
from partisan_operator.leader.election import Candidate
from partisan_operator.leader.leadership import Leadership
from partisan_operator.leader.lease import Lease
from partisan_operator.models.clock import utc_now
from partisan_operator.observe.observer import Observer
from partisan_operator.observe.scraper import Scraper
from partisan_operator.reconciler import Tools
from partisan_operator.schedule.fleet import Fleet
from partisan_operator.schedule.limiter import ReconcileLimiter
from partisan_operator.settings import Settings
from partisan_operator.status.audience import Audience
from partisan_operator.supervisor import Supervisor


class Scope:
    """Some clusters, reconciled here while this process holds their Lease."""

    def __init__(
        self,
        client: ApiClient,
        scraper: Scraper,
        settings: Settings,
        fleet: Fleet,
        limiter: ReconcileLimiter,
        *,
        lease_namespace: str,
        identity: str,
        audience: Audience | None = None,
    ) -> None:
        """Make a scope; `start` enters the election.

        Other scopes of this process share the scraper, the fleet and the limiter. The `audience`
        receives what its loops find out.
        """
        fence = Fence()
        kube = Kube(client, fence)
        observer = Observer(kube, scraper, utc_now)
        executor = Executor(kube, scraper, observer)
        self._known: set[tuple[str, str]] = set()
        self.audience = Audience() if audience is None else audience
        self._supervisor = Supervisor(
            Tools(
                kube,
                observer,
                executor,
                scraper,
                settings,
                self.audience,
                limiter=limiter,
                fleet=fleet,
            ),
            self._forget,
        )
        self._unclaimed = UnclaimedNamespaces(kube)
        lease = Lease(kube, lease_namespace)
        self._lease_namespace = lease_namespace
        self._claims = (
            None
            if settings.namespaces
            else Claims(
                kube,
                str(lease),
                gained=self._begin_in,
                lost=self._supervisor.stop,
                refused=self._announce_refusal,
            )
        )
        self._leadership = Leadership(
            lease,
            Candidate(identity),
            fence,
            gained=self._begin,
            lost=self._end,
        )

    def start(self) -> None:
        """Enter the election."""
        self._election = asyncio.create_task(self._leadership.run(), name="election")

    async def stop(self) -> None:
        """Stop reconciling, and hand the clusters over to another operator."""
        self._election.cancel()
        await asyncio.gather(self._election, return_exceptions=True)
        await self._leadership.resign()

    def learn(self, namespace: str, name: str, *, complete: bool = False) -> None:
        """Record a cluster, and wake its loop."""
        self._known.add((namespace, name))
        self._claim(namespace)
        self.wake(namespace, name, complete=complete)

    def wake(self, namespace: str, name: str, *, complete: bool = False) -> None:
        """Wake the loop of a cluster, if clusters are reconciled here.

        `complete` has it observe children of all kinds.
        """
        if self._serves(namespace):
            self._supervisor.wake(namespace, name, complete=complete)

    def dissolve(self, namespace: str, name: str) -> None:
        """Notify the nodes of a cluster of its deletion."""
        if self._serves(namespace):
            self._supervisor.dissolve(namespace, name)

    def dissolve_all(self, namespace: str) -> None:
        """Notify the nodes of all clusters in a namespace of their deletion."""
        for name in self._names_in(namespace):
            self.dissolve(namespace, name)

    def forget(self, namespace: str, name: str) -> None:
        """Forget a deleted cluster; its loop, woken once more, ends."""
        self.wake(namespace, name)
        self._forget(namespace, name)

    def _forget(self, namespace: str, name: str) -> None:
        """Forget a cluster that does not exist: a watch that begins anew reports no deletions."""
        self._known.discard((namespace, name))
        self._unclaimed.forget(namespace, name)
        if self._claims is not None and namespace not in self.namespaces:
            self._claims.release(namespace)

    def faults(self) -> list[str]:
        """Return faults that only a restart resolves."""
        election = [self._leadership.state] if self._leadership.stuck else []
        claims = [] if self._claims is None else self._claims.stuck
        return self._supervisor.stuck() + election + claims

    @property
    def obstacle(self) -> str:
        """Why this operator can neither act here nor take over; empty if it can."""
        return self._leadership.obstacle or ("" if self._claims is None else self._claims.obstacle)

    @property
    def state(self) -> str:
        """Whether this operator acts here, as text."""
        excluded = {} if self._claims is None else self._claims.excluded
        others = (
            f"; {holder} serves namespace {namespace}, where this operator does nothing"
            for namespace, holder in sorted(excluded.items())
        )
        refused = {} if self._claims is None else self._claims.refused
        unserved = (
            f"; no operator serves namespace {namespace}, whose Lease is refused: {answer}"
            for namespace, answer in sorted(refused.items())
        )
        return "".join((self._leadership.state, *others, *unserved))

    def is_excluded(self, namespace: str) -> bool:
        """Whether a namespace is known not to be served by this operator."""
        return self._claims is not None and self._claims.excludes(namespace)

    @property
    def leading(self) -> bool:
        """Whether the clusters are reconciled here."""
        return self._leadership.leading

    @property
    def holder(self) -> str:
        """Identity of the operator that holds the Lease, as last seen; empty if there is none."""
        return self._leadership.holder

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that have clusters."""
        return frozenset(namespace for namespace, _ in self._known)

    def _claim(self, namespace: str) -> None:
        # The Lease of all namespaces is the claim of its own.
        if self._claims is not None and self.leading and namespace != self._lease_namespace:
            self._claims.claim(namespace)

    def _serves(self, namespace: str) -> bool:
        if self._claims is None or namespace == self._lease_namespace:
            return self.leading
        return self.leading and self._claims.hold(namespace)

    def _begin(self) -> None:
        self.audience.began(self.wake)
        for namespace in self.namespaces:
            self._claim(namespace)
            if self._serves(namespace):
                self._begin_in(namespace)

    def _begin_in(self, namespace: str) -> None:
        for name in self._names_in(namespace):
            self._supervisor.wake(namespace, name)

    async def _announce_refusal(self, namespace: str, answer: str) -> None:
        await self._unclaimed.announce(namespace, self._names_in(namespace), answer)

    def _names_in(self, namespace: str) -> tuple[str, ...]:
        """Return the names of the clusters in a namespace."""
        return tuple(name for known, name in self._known if known == namespace)

    async def _end(self) -> None:
        self.audience.ended()
        if self._claims is not None:
            await self._claims.stop()
        await self._supervisor.stop()
