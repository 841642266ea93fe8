"""One reconcile of one cluster: observe, decide, act, report."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from partisan_operator.act.dissolution import Dissolution
from partisan_operator.act.executor import Executor
from partisan_operator.act.nudge import Nudge
from partisan_operator.act.reporter import Reporter
from partisan_operator.api import metrics
from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import Kube
from partisan_operator.decide import reconcile
from partisan_operator.decide.actions import Plan
from partisan_operator.decide.fleet import followed_image, running_image
from partisan_operator.decide.monitoring import missing_kind
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Problem
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.observer import Observer
from partisan_operator.observe.scraper import Scraper
from partisan_operator.observe.traffic import aggregate, channel_names
from partisan_operator.schedule.coverage import Coverage
from partisan_operator.schedule.fleet import Fleet, unlimited
from partisan_operator.schedule.limiter import ReconcileLimiter
from partisan_operator.schedule.retries import Retries
from partisan_operator.schedule.wakeups import Wakeups
from partisan_operator.settings import Settings
from partisan_operator.status.audience import Audience
from partisan_operator.status.failures import is_due
from partisan_operator.status.run import Ledger
from partisan_operator.status.status import Findings, status_of
from partisan_operator.status.unready import Unready
from partisan_operator.status.writing import is_settled

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tools:
    """Dependencies that all loops share."""

    kube: Kube
    observer: Observer
    executor: Executor
    scraper: Scraper
    settings: Settings
    audience: Audience = field(default_factory=Audience)
    limiter: ReconcileLimiter = field(default_factory=ReconcileLimiter)
    fleet: Fleet = field(default_factory=unlimited)
    clock: Callable[[], float] = time.monotonic
    """Measures how long failures and other states last, in seconds."""


class Reconciler:
    """Reconciles the cluster with one uid, and keeps state for the next reconcile.

    This state is an optimisation: a new reconciler restores the durable part from the status.
    """

    def __init__(
        self,
        uid: str,
        tools: Tools,
        *,
        wakeups: Wakeups,
        retries: Retries,
        reporter: Reporter,
        dissolution: Dissolution,
    ) -> None:
        """Begin without an observation of the cluster."""
        self.uid, self.nodes = uid, 0
        self.observation: Observation | None = None
        self.coverage = Coverage(tools.settings.resync_period)
        self._tools, self._wakeups, self._retries = tools, wakeups, retries
        self._reporter, self._dissolution = reporter, dissolution
        self._plan: Plan | None = None
        self._ledger = Ledger()
        self._unready = Unready(tools.clock)
        self._nudge = Nudge(tools.kube, tools.clock)

    async def reconcile(self, cluster: PartisanCluster, *, woken: bool) -> float:
        """Reconcile once; return how many seconds to pause. Raises `KubeError`."""
        tools, began = self._tools, time.monotonic()
        installation, earlier = tools.settings.installation, self.observation
        desired = reconcile.desired(cluster, installation)
        observation = await tools.observer.observe(
            cluster,
            desired,
            earlier,
            extent=self.coverage.begin(cluster, began, woken=woken),
            certificate=self._plan is None or self._plan.tls.unsettled,
            traffic=tools.audience.watches(cluster),
        )
        await self._dissolution.prepare(cluster, observation)
        default = installation.node_image
        running = running_image(cluster, observation, default)
        hold = None
        plan = reconcile.plan(cluster, desired, observation, installation)
        # A plan that leaves the pods as they are, as of a refused spec, takes no turn.
        if plan.changes_pods and running not in ("", default) and not cluster.spec.image:
            hold = await tools.fleet.hold(cluster, default)
        if hold is not None:
            installation = replace(installation, node_image=running)
            desired = reconcile.desired(cluster, installation)
            plan = reconcile.plan(cluster, desired, observation, installation)
        follows = hold is None and (plan.changes_pods or not running)
        refused = await tools.executor.execute(cluster, plan)
        backoff = None if refused is None else self._retries.failed()
        ready = not observation.unready(cluster)
        if observation.complete and refused is None:
            self.coverage.completed(began, ready=ready)
        if ready and self.coverage.record_ready():
            self._wakeups.wake()
        findings = Findings(
            observation=observation,
            plan=plan,
            ledger=self._ledger,
            problem=await self._problem(cluster, observation, plan, refused),
            hold=hold,
            default_image=followed_image(
                cluster, observation, running, default if follows else running, default
            ),
            channels=aggregate(
                channel_names(cluster.spec),
                {} if earlier is None else earlier.seen,
                observation.seen,
            ),
        )
        status, self._ledger = status_of(cluster, findings)
        self.observation, self._plan, self.nodes = observation, plan, cluster.spec.replicas
        metrics.cluster_metrics.publish(cluster, status, observation.at)
        tools.audience.observed(cluster, status, observation)
        if plan.scaling is not None and refused is None:
            await self._reporter.scaled(cluster, *plan.scaling)
        if plan.adopted and refused is None:
            self.coverage.make_resync_due()
            await self._reporter.adopted(cluster, plan.adopted)
        await self._reporter.report(cluster, status)
        settled = is_settled(status) and not plan.changes
        self.coverage.at_rest = settled and not (plan.actions or observation.unsettled(cluster))
        if backoff is not None:
            return backoff
        self._retries.succeeded()
        pause = tools.settings.idle_period if settled else tools.settings.active_period
        return tools.audience.pause(cluster, pause, time.monotonic() - began)

    async def _problem(
        self,
        cluster: PartisanCluster,
        observation: Observation,
        plan: Plan,
        refused: Problem | None,
    ) -> Problem | None:
        """Return the problem to report, the most fundamental first."""
        if plan.problem is not None:
            return plan.problem
        if refused is not None and is_due(cluster, refused, persists=self._retries.persist):
            return refused
        if self._unready.is_due(cluster):
            self._unready.begin()
            await self._diagnose(cluster, observation)
        return self._unready.problem(cluster, observation, plan.tls.waiting) or missing_kind(
            cluster.spec.metrics.pod_monitor, observation.monitors
        )

    async def _diagnose(self, cluster: PartisanCluster, observation: Observation) -> None:
        """Read why pods are not ready. A failure blocks nothing: the status reports the rest."""
        try:
            failures = await self._tools.observer.pod_failures(cluster, observation)
            self._unready.found(failures)
            await self._nudge.retry(cluster, observation, failures)
        except KubeError as error:
            where = f"{cluster.namespace}/{cluster.name}"
            logger.warning("%s: the cause of pods that are not ready: %s", where, error)
