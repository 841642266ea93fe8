"""One loop for each cluster: look, plan, act, report; then sleep until woken or due.

An event only ends the sleep. What a loop keeps between two looks (recent reports, the ledger of
the run) makes its answers better and is never needed for them to be right: a loop that starts
anew takes the durable part from the status.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field

from pydantic import ValidationError

from partisan_operator import metrics, reconcile
from partisan_operator.announcements import Announcement, announcements
from partisan_operator.children import family_of
from partisan_operator.clock import seconds_between, to_wire, utc_now
from partisan_operator.diagnosis import (
    Problem,
    Reason,
    Trouble,
    explain,
    not_issued,
    partition,
    silence,
)
from partisan_operator.execute import Executor
from partisan_operator.kube import Kube, KubeError
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.models.cluster import KIND
from partisan_operator.models.status import ConditionType, Phase
from partisan_operator.monitoring import missing_kind
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.observer import Extent, Observer, seed_names
from partisan_operator.observe.traffic import aggregate, channel_names
from partisan_operator.settings import Settings
from partisan_operator.status import View, status_of, worth_writing
from partisan_operator.turns import Turns
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

_DIAGNOSIS_PERIOD = 3.0
_NUDGE_PERIOD = 10.0
_NUDGE_ANNOTATION = "partisan.dev/nudged-at"
_FIRST_BACKOFF, _LAST_BACKOFF = 1.0, 30.0


@dataclass(frozen=True)
class Tools:
    """What all loops share."""

    kube: Kube
    observer: Observer
    executor: Executor
    settings: Settings
    turns: Turns = field(default_factory=Turns)


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
        self._backoff = _FIRST_BACKOFF
        self._forget("")
        self.busy_since: float | None = None
        """Monotonic time at which the look in progress began; None between looks."""

    def _forget(self, uid: str) -> None:
        """Begin with the cluster of that uid: what was kept of another one means nothing."""
        self._uid = uid
        self._observation: Observation | None = None
        self._nodes = 0
        self._ledger = Ledger()
        self._looked_at_all = self._diagnosed = self._nudged = float("-inf")
        self._troubles: tuple[Trouble, ...] = ()
        self._untrue_since: dict[ConditionType, float] = {}
        self._stood = False
        self._at_rest = False

    def wake(self) -> None:
        """End the sleep: something may have changed."""
        self._woken.set()

    async def run(self) -> None:
        """Look after the cluster until it is gone."""
        while True:
            async with self._tools.turns.turn():
                computed = time.process_time()
                pause = await self._round()
                computed = time.process_time() - computed
            if pause is None:
                return
            settled = pause >= self._tools.settings.idle_period
            least = least_pause(computed, nodes=self._nodes, settled=settled)
            await asyncio.sleep(least)
            await self._sleep(pause - least)

    async def _round(self) -> float | None:
        """Look and act, whatever comes of it; return how long to sleep, None when it is gone."""
        self.busy_since = began = time.monotonic()
        outcome = "ok"
        try:
            pause = await self._look_and_act()
            self._backoff = _FIRST_BACKOFF
        except KubeError as error:
            outcome, pause = "error", self._next_backoff()
            self._log.warning("%s; next look in %.0f s", error, pause)
        except Exception:
            # The loop is the only thing that looks after the cluster: it must not end.
            outcome, pause = "bug", self._next_backoff()
            self._log.exception("this is a fault of the operator")
        finally:
            self.busy_since = None
        metrics.reconcile_seconds.labels(outcome).observe(time.monotonic() - began)
        return pause

    def _next_backoff(self) -> float:
        present, self._backoff = self._backoff, min(2 * self._backoff, _LAST_BACKOFF)
        return present

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._woken.wait(), max(0.0, seconds))
        except TimeoutError:
            return  # nothing happened, and the next look is due

    async def _look_and_act(self) -> float | None:
        """Do one round; return how long to sleep, None when the cluster is gone."""
        woken = self._woken.is_set()
        self._woken.clear()
        manifest = await self._tools.kube.get(KIND, self._namespace, self._name)
        if manifest is None:
            metrics.cluster_metrics.forget(self._namespace, self._name)
            return None
        try:
            cluster = PartisanCluster.from_wire(manifest)
        except ValidationError as error:
            self._log.error(
                "%s: this operator does not know the spec: %s", Reason.INVALID_SPEC, error
            )
            return self._tools.settings.idle_period
        if cluster.deleting:
            metrics.cluster_metrics.forget(self._namespace, self._name)
            return self._tools.settings.idle_period
        if cluster.uid != self._uid:
            self._forget(cluster.uid)
        return await self._reconcile(cluster, woken=woken)

    async def _reconcile(self, cluster: PartisanCluster, *, woken: bool) -> float:
        settings, earlier = self._tools.settings, self._observation
        family = family_of(cluster, settings.node_image)
        began = time.monotonic()
        extent = self._extent(cluster, began, woken=woken)
        # A look that does not come to its end leaves open what has been seen.
        self._at_rest = False
        observation = await self._tools.observer.look(cluster, family, earlier, extent=extent)
        plan = reconcile.plan(cluster, family, observation, settings.node_image)
        refused = await self._tools.executor.execute(cluster, plan)
        if observation.complete and refused is None:
            self._looked_at_all = began
        if not observation.unready(cluster) and not self._stood:
            # What guards a cluster comes once it stands, and only a complete look tells.
            self._stood, self._looked_at_all = True, float("-inf")
            self.wake()
        problem = (
            plan.problem
            or refused
            or await self._diagnose(cluster, observation, plan.tls.waiting)
            or missing_kind(cluster.spec.metrics.pod_monitor, observation.monitoring)
        )
        view = View(
            observation=observation,
            ledger=self._ledger,
            acted=plan.changes,
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
            await self._tools.kube.announce(
                cluster, Announcement("Normal", "Scaled", f"From {before} to {after} nodes")
            )
        if worth_writing(status, cluster.status):
            await self._report(cluster, status)
        settled = _settled(status) and not plan.changes
        self._at_rest = settled and not (plan.actions or observation.unsettled(cluster))
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

    async def _diagnose(
        self, cluster: PartisanCluster, observation: Observation, certificate: str
    ) -> Problem | None:
        """Return what is wrong with a cluster that is not ready, asking for details rarely.

        `certificate` says what the pods' certificate waits for.
        """
        now = to_wire(observation.at)
        unready_for = self._untrue_for(cluster, ConditionType.READY, now)
        if unready_for is None:
            self._troubles = ()
            return None
        began = time.monotonic()
        if began - self._diagnosed >= _DIAGNOSIS_PERIOD:
            self._diagnosed = began
            self._troubles = await self._tools.observer.troubles(cluster, observation)
            await self._nudge(cluster, observation)
        unready = observation.unready(cluster)
        problem = explain(
            [trouble for trouble in self._troubles if trouble.pod in unready],
            unready_pods=len(unready),
            seeds=seed_names(cluster),
            unready_for=unready_for,
        )
        return (
            not_issued(certificate, unready_for)
            or problem
            or silence(observation.silent(), unready_for)
            or self._partition(cluster, observation)
        )

    def _partition(self, cluster: PartisanCluster, observation: Observation) -> Problem | None:
        kind, now = ConditionType.OVERLAY_CONNECTED, to_wire(observation.at)
        seconds = self._untrue_for(cluster, kind, now)
        if seconds is None or cluster.status.overlay is None:
            return None
        return partition(
            cluster.status.overlay.components,
            cluster.status.joined,
            cluster.spec.replicas,
            seconds,
        )

    def _untrue_for(self, cluster: PartisanCluster, kind: ConditionType, now: str) -> float | None:
        """Return for how many seconds a condition has not been true; None when it is, or unknown.

        The time in the status may be that of another operator, whose clock was ahead of this one's:
        it is never less than for how long this loop has seen it so.
        """
        condition = cluster.status.condition(kind)
        if condition is None or condition.status == "True":
            self._untrue_since.pop(kind, None)
            return None
        since = self._untrue_since.setdefault(kind, time.monotonic())
        told = seconds_between(condition.last_transition_time, now) or 0.0
        return max(told, time.monotonic() - since)

    async def _nudge(self, cluster: PartisanCluster, observation: Observation) -> None:
        """Make StatefulSets try again to create the pods that they could not create.

        Their controller backs off up to a quarter of an hour, and does not notice that a quota
        was raised. Any change of the object makes it look.
        """
        creation = (Reason.QUOTA_EXCEEDED, Reason.POD_REJECTED)
        failed = any(trouble.reason in creation for trouble in self._troubles)
        if not failed or time.monotonic() - self._nudged < _NUDGE_PERIOD or cluster.spec.paused:
            return
        self._nudged = time.monotonic()
        for shard in observation.shards(cluster):
            if shard.exists < shard.wanted:
                await self._tools.kube.annotate(
                    "StatefulSet",
                    cluster.namespace,
                    shard.name,
                    _NUDGE_ANNOTATION,
                    to_wire(utc_now()),
                )

    async def _report(self, cluster: PartisanCluster, status: PartisanClusterStatus) -> None:
        await self._tools.kube.apply_status(cluster, status.to_wire())
        for announcement in announcements(cluster.status, status):
            self._log.info("%s: %s", announcement.reason, announcement.message)
            await self._tools.kube.announce(cluster, announcement)
        old, new = cluster.status.timings, status.timings
        if new.ready_at and new.ready_at != old.ready_at:
            seconds = seconds_between(new.applied_at, new.ready_at) or 0.0
            metrics.apply_to_ready_seconds.observe(seconds)
        if new.joined_at and new.joined_at != old.joined_at:
            seconds = seconds_between(new.applied_at, new.joined_at) or 0.0
            metrics.apply_to_joined_seconds.observe(seconds)


def _settled(status: PartisanClusterStatus) -> bool:
    """Say whether nothing is expected to happen soon."""
    waiting = status.workload is not None and status.workload.phase != "Finished"
    ready = status.phase is Phase.READY and not waiting
    return ready or status.phase in (Phase.CONVERGED, Phase.PAUSED)
