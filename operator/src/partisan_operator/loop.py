"""One loop for each cluster: reconcile, then pause until woken or due. An event ends the pause."""

import asyncio
import logging
import time

from pydantic import ValidationError

from partisan_operator.act.dissolution import Dissolution
from partisan_operator.act.reporter import Reporter
from partisan_operator.api import metrics
from partisan_operator.api.errors import KubeError
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.models.clock import utc_now
from partisan_operator.models.cluster import KIND
from partisan_operator.models.problem import Problem
from partisan_operator.reconciler import Reconciler, Tools
from partisan_operator.schedule.pace import least_pause
from partisan_operator.schedule.retries import Retries
from partisan_operator.schedule.stopwatch import Stopwatch
from partisan_operator.schedule.wakeups import Wakeups
from partisan_operator.status.failures import (
    invalid_spec,
    is_due,
    operator_fault,
    reconcile_failure,
)
from partisan_operator.status.status import status_after_failure


class ClusterLoop:
    """Reconciles one cluster for as long as it exists."""

    def __init__(self, namespace: str, name: str, tools: Tools) -> None:
        """Make the loop of a cluster; `run` runs it."""
        self._namespace, self._name, self._tools = namespace, name, tools
        self._log = logging.LoggerAdapter(
            logging.getLogger(__name__), {"cluster": f"{namespace}/{name}"}
        )
        self._wakeups = Wakeups()
        self._retries = Retries(tools.clock)
        self._reporter = Reporter(tools.kube, tools.audience, self._log)
        self._dissolution = Dissolution(tools.kube, tools.observer, tools.scraper)
        self._reconciler = self._new_reconciler("")
        self._cluster: PartisanCluster | None = None
        self.busy_since: float | None = None
        """Monotonic time at which the reconcile in progress began; None between reconciles."""

    def wake(self, *, complete: bool = False) -> None:
        """End the pause; `complete`: children of any kind may have changed."""
        self._wakeups.wake(complete=complete)

    def dissolve(self) -> None:
        """Notify the nodes of the cluster's deletion."""
        self._dissolution.begin()

    def _new_reconciler(self, uid: str) -> Reconciler:
        return Reconciler(
            uid,
            self._tools,
            wakeups=self._wakeups,
            retries=self._retries,
            reporter=self._reporter,
            dissolution=self._dissolution,
        )

    async def run(self) -> None:
        """Reconcile the cluster until it is gone."""
        while True:
            async with self._tools.limiter.slot():
                stopwatch = Stopwatch(self._attempt())
                pause = await stopwatch
            if pause is None:
                if not self._wakeups.pending:
                    return
                pause = 0.0  # another cluster of its name may exist by now
            settled = pause >= self._tools.settings.idle_period
            least = least_pause(stopwatch.seconds, nodes=self._reconciler.nodes, settled=settled)
            await asyncio.sleep(least)
            await self._wakeups.pause(pause - least)

    async def _attempt(self) -> float | None:
        """Reconcile, and report failures; return how long to pause, None if the cluster is gone."""
        self.busy_since = began = time.monotonic()
        self._cluster = None
        outcome = "ok"
        try:
            pause = await self._reconcile()
        except KubeError as error:
            outcome = "error"
            failure = reconcile_failure(error.request, str(error), transient=error.transient)
            pause = await self._failed(failure)
        except Exception as error:
            # Nothing else reconciles the cluster: the loop must not end.
            outcome = "bug"
            self._log.exception("this is a fault of the operator")
            pause = await self._failed(operator_fault(error))
        finally:
            self.busy_since = None
        metrics.reconcile_seconds.labels(outcome).observe(time.monotonic() - began)
        return pause

    async def _failed(self, problem: Problem) -> float:
        """Report a failed reconcile; return how long to pause."""
        pause = self._retries.failed()
        self._log.warning("%s; next reconcile in %.0f s", problem.message, pause)
        cluster = self._cluster
        if cluster is not None and is_due(cluster, problem, persists=self._retries.persist):
            status = status_after_failure(cluster, problem, utc_now())
            self._tools.audience.failed(cluster, status)
            await self._report(cluster, status)
        return pause

    async def _report(self, cluster: PartisanCluster, status: PartisanClusterStatus) -> None:
        """Write the status after a failure. Raises nothing, or the loop would end."""
        try:
            await self._reporter.report(cluster, status)
        except KubeError as error:
            self._log.warning("the status was not written: %s", error)
        except Exception:
            self._log.exception("the status was not written: this is a fault of the operator")

    async def _reconcile(self) -> float | None:
        """Reconcile once; return how long to pause, None if the cluster is gone."""
        woken, complete = self._wakeups.take()
        if complete:
            self._reconciler.coverage.make_resync_due()
        manifest = await self._tools.kube.get(KIND, self._namespace, self._name)
        if manifest is None:
            self._forget()
            return None
        try:
            self._cluster = cluster = PartisanCluster.from_wire(manifest)
        except ValidationError as error:
            # The rest of the object is known: enough to report in its status.
            self._cluster = PartisanCluster.from_wire({**manifest, "spec": {}})
            return await self._failed(invalid_spec(str(error)))
        if cluster.deleting:
            self._forget()
            return self._tools.settings.idle_period
        if cluster.uid != self._reconciler.uid:
            self._reconciler = self._new_reconciler(cluster.uid)
        if (
            woken
            and self._reconciler.coverage.was_ready
            and await self._dissolution.is_due(cluster)
        ):
            self.dissolve()
            return self._tools.settings.idle_period
        return await self._reconciler.reconcile(cluster, woken=woken)

    def _forget(self) -> None:
        metrics.cluster_metrics.forget(self._namespace, self._name)
        self._tools.audience.forgotten(self._namespace, self._name)
