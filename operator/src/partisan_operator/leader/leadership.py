"""Acquires and renews a Lease by the rules of `election`.

The loss of the Lease does not end the process: it stops acting and stands by.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from partisan_operator.api import metrics
from partisan_operator.api.errors import KubeError
from partisan_operator.api.fence import Fence, steady_clock
from partisan_operator.leader.election import Candidate, Claim
from partisan_operator.leader.lease import Lease

logger = logging.getLogger(__name__)

STUCK_AFTER = 60.0
"""Seconds without the end of a round after which the election counts as stuck."""

_REPLACED = (404, 409)


async def _ignore(_: str) -> None:
    """Do nothing about a refusal."""


class Leadership:
    """One operator's part in the election of the leader for some clusters."""

    def __init__(
        self,
        lease: Lease,
        candidate: Candidate,
        fence: Fence,
        *,
        gained: Callable[[], None],
        lost: Callable[[], Awaitable[None]],
        refused: Callable[[str], Awaitable[None]] = _ignore,
        clock: Callable[[], float] = steady_clock,
    ) -> None:
        """Make a candidate that has not read the Lease yet.

        `gained` is called when it may act, and `lost` awaited when it may no longer: by then the
        fence is closed. `refused` is awaited after each `refusal`, with its text.
        """
        self._lease = lease
        self._candidate = candidate
        self._fence = fence
        self._gained, self._lost, self._refused = gained, lost, refused
        self._clock = clock
        self._round_ended = self._heard = clock()
        self._heard_at_all = False
        self._holder = ""
        self.leading = False
        """Whether the clusters are reconciled here."""

        self.refusal = ""
        """The API server's answer when it refuses the Lease although no operator holds it, as by a
        quota; empty if it does not."""

        metrics.leader.labels(str(lease)).set(0)
        self._record_refusal("")

    async def run(self) -> None:
        """Take part until cancelled."""
        while True:
            try:
                await self._round()
            except (KubeError, TimeoutError) as error:
                logger.warning("Lease %s: %s", self._lease, error or "no answer in time")
            except Exception:
                # Without the election no operator would act: it must not end.
                logger.exception("Lease %s: this is a fault of the operator", self._lease)
            await self._follow()
            self._round_ended = self._clock()
            await asyncio.sleep(self._candidate.pause(self._clock()))

    async def resign(self) -> None:
        """Stop acting, then release the Lease, so that another operator need not wait."""
        await self._step_down()
        record = self._candidate.record
        if record is None or record.holder != self._candidate.identity:
            return
        claim = Claim(record.version, record.transitions, acquires=False)
        try:
            async with asyncio.timeout(self._candidate.timing.period):
                await self._lease.write(claim, holder="", duration=1)
        except (KubeError, TimeoutError) as error:
            logger.warning("Lease %s was not released: %s", self._lease, error or "no answer")

    @property
    def stuck(self) -> bool:
        """Whether the election is stuck."""
        return self._clock() - self._round_ended > STUCK_AFTER

    @property
    def obstacle(self) -> str:
        """Why this operator can neither act nor take over; empty if it can."""
        silent = self._clock() - self._heard
        if self._heard_at_all and silent < self._candidate.timing.duration:
            return f"Lease {self._lease} is refused: {self.refusal}" if self.refusal else ""
        return f"nothing is known of Lease {self._lease} for {silent:.0f} s"

    @property
    def state(self) -> str:
        """Whether this operator acts, as text."""
        if self.leading:
            return f"leads for Lease {self._lease}"
        return f"stands by for Lease {self._lease}, which {self.holder or 'no operator'} holds"

    @property
    def holder(self) -> str:
        """Identity of the holder of the Lease, as last seen; empty if there is none."""
        record = self._candidate.record
        return "" if record is None else record.holder

    async def _round(self) -> None:
        """Read the Lease, unless it is ours, and write it if it is, or may be."""
        now, timing = self._clock(), self._candidate.timing
        limit = timing.deadline / 2
        if self._candidate.leads(now):
            limit = min(limit, self._candidate.leads_until - now)
        async with asyncio.timeout(limit):
            if not self._candidate.leads(now):
                await self._read()
            claim = self._candidate.claim(self._clock())
            if claim is None:
                self._record_refusal("")
                return
            sent_at = self._clock()
            try:
                record = await self._lease.write(
                    claim, holder=self._candidate.identity, duration=timing.duration
                )
            except KubeError as error:
                if error.code not in _REPLACED:
                    if error.code and not self._candidate.leads(self._clock()):
                        self._record_refusal(str(error))
                        await self._refused(self.refusal)
                    raise
                await self._read()
                return
            self._candidate = self._candidate.wrote(record, sent_at)
            self._record_refusal("")
            self._hear()

    async def _read(self) -> None:
        record = await self._lease.read()
        self._candidate = self._candidate.saw(record, self._clock())
        self._hear()
        holder = "" if record is None else record.holder
        if holder not in ("", self._holder, self._candidate.identity):
            logger.info("standing by: %s holds Lease %s", holder, self._lease)
        self._holder = holder

    def _record_refusal(self, answer: str) -> None:
        self.refusal = answer
        metrics.lease_refused.labels(str(self._lease)).set(bool(answer))

    def _hear(self) -> None:
        self._heard, self._heard_at_all = self._clock(), True

    async def _follow(self) -> None:
        """Start or stop acting by the rules."""
        if self._candidate.leads(self._clock()):
            self._fence.open(self._candidate.leads_until)
            if not self.leading:
                logger.info("%s holds Lease %s", self._candidate.identity, self._lease)
                self.leading = True
                metrics.leader.labels(str(self._lease)).set(1)
                self._gained()
        elif self.leading:
            logger.warning("Lease %s is lost: standing by", self._lease)
            await self._step_down()

    async def _step_down(self) -> None:
        await self._fence.close()
        self.leading = False
        metrics.leader.labels(str(self._lease)).set(0)
        await self._lost()
