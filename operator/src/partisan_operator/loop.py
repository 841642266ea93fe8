"""One loop for each cluster: look, plan, act, report; then sleep until woken or due.

An event only ends the sleep. What a loop keeps between two looks (recent reports, the ledger of
the run) makes its answers better and is never needed for them to be right: a loop that starts
anew takes the durable part from the status.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import ValidationError

from partisan_operator import metrics, reconcile
from partisan_operator.announcements import Announcement, announcements
from partisan_operator.children import family_of
from partisan_operator.clock import seconds_between, utc_now
from partisan_operator.diagnosis import Problem, invalid_spec, operator_fault, reconcile_failure
from partisan_operator.dissolution import Dissolution
from partisan_operator.events import announce
from partisan_operator.execute import Executor
from partisan_operator.kube import Kube, KubeError
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.models.cluster import KIND
from partisan_operator.models.status import ConditionType, Phase
from partisan_operator.monitoring import missing_kind
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.observer import Extent, Observer
from partisan_operator.observe.scraper import Scraper
from partisan_operator.observe.traffic import aggregate, channel_names
from partisan_operator.retries import Retries
from partisan_operator.settings import Settings
from partisan_operator.status import View, status_after_failure, status_of, worth_writing
from partisan_operator.stopwatch import Stopwatch
from partisan_operator.turns import Turns
from partisan_operator.unready import Unready
from partisan_operator.workload import Ledger

LEAST_PAUSE = 0.25
"""Seconds between two looks, however many events come."""

_SHARE_OF_TIME = 4
"""The loop of a settled cluster sleeps at least this many times as long as the operator computed
during its look, so that many large ones leave time for those at work; that of a cluster at work as
long as that. Time in which nodes or the API server were waited for is nobody's loss."""

NODES_PER_SECOND = 200
"""How many nodes of a cluster are asked in a second, at the most: answering takes each about a
millisecond, and while a large cluster forms hardly a moment passes without a change."""


@dataclass(frozen=True)
class Tools:
    """What all loops share."""

    kube: Kube
    observer: Observer
    executor: Executor
    scraper: Scraper
    settings: Settings
    turns: Turns = field(default_factory=Turns)
    clock: Callable[[], float] = time.monotonic
    """By which it is measured how long failures and other states last."""


def least_pause(computed: float, *, nodes: int, settled: bool) -> float:
    """Return how many seconds a loop sleeps at least, whatever happens, after a look.

    `computed` is the processor time that the operator took for it, of a cluster of so many nodes.
    """
    share = computed * (_SHARE_OF_TIME if settled else 1)
    return max(LEAST_PAUSE, share, nodes / NODES_PER_SECOND)


class ClusterLoop:
    """Looks after one cluster for as long as it exists."""

    def __init__(self, namespace: str, name: str, tools: Tools) -> None:
        """Make the loop of a cluster; `run` runs it."""
        self._namespace, self._name = namespace, name
        self._tools = tools
        self._log = logging.LoggerAdapter(
            logging.getLogger(__name__), {"cluster": f"{namespace}/{name}"}
        )
        self._woken = asyncio.Event()
        self._dissolution = Dissolution(tools.kube, tools.observer, tools.scraper)
        self._children_changed = False
        self._retries = Retries(tools.clock)
        self._cluster: PartisanCluster | None = None
        self._forget("")
        self.busy_since: float | None = None
        """Monotonic time at which the look in progress began; None between looks."""

    def _forget(self, uid: str) -> None:
        """Begin with the cluster of that uid: what was kept of another one means nothing."""
        self._uid = uid
        self._observation: Observation | None = None
        self._nodes = 0
        self._ledger = Ledger()
        self._looked_at_all = float("-inf")
        self._unready = Unready(self._tools.kube, self._tools.observer, self._tools.clock)
        self._stood = False
        self._at_rest = False

    def wake(self, *, complete: bool = False) -> None:
        """End the sleep: something may have changed; `complete`: children of any kind."""
        self._children_changed |= complete
        self._woken.set()

    def dissolve(self) -> None:
        """Have the nodes know that the cluster is being deleted."""
        self._dissolution.begin()

    async def run(self) -> None:
        """Look after the cluster until it is gone."""
        while True:
            async with self._tools.turns.turn():
                stopwatch = Stopwatch(self._round())
                pause = await stopwatch
            if pause is None:
                return
            settled = pause >= self._tools.settings.idle_period
            least = least_pause(stopwatch.seconds, nodes=self._nodes, settled=settled)
            await asyncio.sleep(least)
            await self._sleep(pause - least)

    async def _round(self) -> float | None:
        """Look and act, whatever comes of it; return how long to sleep, None when it is gone."""
        self.busy_since = began = time.monotonic()
        self._cluster = None
        outcome = "ok"
        try:
            pause = await self._look_and_act()
        except KubeError as error:
            outcome = "error"
            failure = reconcile_failure(error.request, str(error), transient=error.transient)
            pause = await self._failed(failure)
        except Exception as error:
            # The loop is the only thing that looks after the cluster: it must not end.
            outcome = "bug"
            self._log.exception("this is a fault of the operator")
            pause = await self._failed(operator_fault(error))
        finally:
            self.busy_since = None
        metrics.reconcile_seconds.labels(outcome).observe(time.monotonic() - began)
        return pause

    async def _failed(self, problem: Problem) -> float:
        """Report a reconcile that did not come to its end; return how long to sleep."""
        pause = self._retries.failed()
        self._log.warning("%s; next look in %.0f s", problem.message, pause)
        cluster = self._cluster
        if cluster is not None and self._is_due(cluster, problem):
            try:
                await self._report(cluster, status_after_failure(cluster, problem, utc_now()))
            except KubeError as error:
                self._log.warning("the status does not say so: %s", error)
        return pause

    def _is_due(self, cluster: PartisanCluster, problem: Problem) -> bool:
        """Whether a problem is to be reported: it persists, or is reported already."""
        degraded = cluster.status.condition(ConditionType.DEGRADED)
        reported = degraded is not None and degraded.reason == problem.reason
        return not problem.transient or reported or self._retries.persist

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._woken.wait(), max(0.0, seconds))
        except TimeoutError:
            return  # nothing happened, and the next look is due

    async def _look_and_act(self) -> float | None:
        """Do one round; return how long to sleep, None when the cluster is gone."""
        woken = self._woken.is_set()
        self._woken.clear()
        if self._children_changed:
            self._children_changed, self._looked_at_all = False, float("-inf")
        manifest = await self._tools.kube.get(KIND, self._namespace, self._name)
        if manifest is None:
            metrics.cluster_metrics.forget(self._namespace, self._name)
            return None
        try:
            self._cluster = cluster = PartisanCluster.from_wire(manifest)
        except ValidationError as error:
            # The rest of the object is known: enough to report in its status.
            self._cluster = PartisanCluster.from_wire({**manifest, "spec": {}})
            return await self._failed(invalid_spec(str(error)))
        if cluster.deleting:
            metrics.cluster_metrics.forget(self._namespace, self._name)
            return self._tools.settings.idle_period
        if cluster.uid != self._uid:
            self._forget(cluster.uid)
        if woken and self._stood and await self._dissolution.is_due(cluster):
            self.dissolve()
            return self._tools.settings.idle_period
        return await self._reconcile(cluster, woken=woken)

    async def _reconcile(self, cluster: PartisanCluster, *, woken: bool) -> float:
        settings, earlier = self._tools.settings, self._observation
        family = family_of(cluster, settings.node_image)
        began = time.monotonic()
        extent = self._extent(cluster, began, woken=woken)
        # A look that does not come to its end leaves open what has been seen.
        self._at_rest = False
        observation = await self._tools.observer.look(cluster, family, earlier, extent=extent)
        await self._dissolution.prepare(cluster, observation)
        plan = reconcile.plan(
            cluster,
            family,
            observation,
            settings.node_image,
            settings.allowed_pod_annotations,
        )
        refused = await self._tools.executor.execute(cluster, plan)
        backoff = None if refused is None else self._retries.failed()
        if observation.complete and refused is None:
            self._looked_at_all = began
        if not observation.unready(cluster) and not self._stood:
            # What guards a cluster comes once it stands, and only a complete look tells.
            self._stood, self._looked_at_all = True, float("-inf")
            self.wake()
        problem = (
            plan.problem
            or (refused if refused and self._is_due(cluster, refused) else None)
            or await self._unready.diagnose(cluster, observation, plan.tls.waiting)
            or missing_kind(cluster.spec.metrics.pod_monitor, observation.monitoring)
        )
        view = View(
            observation=observation,
            ledger=self._ledger,
            acted=bool(plan.changes),
            changed=plan.changes,
            outdated=plan.outdated,
            kept=plan.kept,
            problem=problem,
            channels=aggregate(
                channel_names(cluster.spec),
                {} if earlier is None else earlier.seen,
                observation.seen,
            ),
            tls=plan.tls,
        )
        status, self._ledger = status_of(cluster, view)
        self._observation, self._nodes = observation, cluster.spec.replicas
        metrics.cluster_metrics.publish(cluster, status, observation.at)
        if plan.scaling is not None and refused is None:
            before, after = plan.scaling
            await self._announce(
                cluster, Announcement("Normal", "Scaled", f"From {before} to {after} nodes")
            )
        await self._report(cluster, status)
        settled = _settled(status) and not plan.changes
        self._at_rest = settled and not (plan.actions or observation.unsettled(cluster))
        if backoff is not None:
            return backoff
        self._retries.succeeded()
        return settings.idle_period if settled else settings.active_period

    def _extent(self, cluster: PartisanCluster, now: float, *, woken: bool) -> Extent:
        """Return how much to look at.

        Of a cluster at rest that nothing woke nothing has changed, as far as the watches tell. What
        they have missed is seen after a resync.
        """
        if (
            cluster.status.observed_generation != cluster.generation
            or now - self._looked_at_all >= self._tools.settings.resync_period
        ):
            return Extent.ALL
        return Extent.NODES if self._at_rest and not woken else Extent.PODS

    async def _report(self, cluster: PartisanCluster, status: PartisanClusterStatus) -> None:
        if not worth_writing(status, cluster.status):
            return
        await self._tools.kube.apply_status(cluster, status.to_wire())
        for announcement in announcements(cluster.status, status):
            await self._announce(cluster, announcement)
        old, new = cluster.status.timings, status.timings
        if new.ready_at and new.ready_at != old.ready_at:
            seconds = seconds_between(new.applied_at, new.ready_at) or 0.0
            metrics.apply_to_ready_seconds.observe(seconds)
        if new.joined_at and new.joined_at != old.joined_at:
            seconds = seconds_between(new.applied_at, new.joined_at) or 0.0
            metrics.apply_to_joined_seconds.observe(seconds)

    async def _announce(self, cluster: PartisanCluster, announcement: Announcement) -> None:
        """Write an Event. Without it the status says the same: it holds nothing up."""
        self._log.info("%s: %s", announcement.reason, announcement.message)
        try:
            await announce(self._tools.kube, cluster, announcement)
        except KubeError as error:
            self._log.warning("no Event says so: %s", error)


def _settled(status: PartisanClusterStatus) -> bool:
    """Say whether nothing is expected to happen soon."""
    waiting = status.workload is not None and status.workload.phase != "Finished"
    ready = status.phase is Phase.READY and not waiting
    return ready or status.phase in (Phase.CONVERGED, Phase.PAUSED)
