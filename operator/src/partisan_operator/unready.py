"""Why a cluster is not ready, and for how long each cause has been there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from partisan_operator.children import naming
from partisan_operator.clock import to_wire, utc_now
from partisan_operator.diagnosis import (
    Problem,
    Reason,
    Trouble,
    explain,
    not_issued,
    partition,
    silence,
)
from partisan_operator.kube import FIELD_MANAGER, Kube
from partisan_operator.models import PartisanCluster
from partisan_operator.models.status import ConditionType
from partisan_operator.observe.graph import analyse
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.observer import Observer, seed_names

_DIAGNOSIS_PERIOD = 3.0
_NUDGE_PERIOD = 10.0
_NUDGE_ANNOTATION = "partisan.dev/nudged-at"
_NUDGE_MANAGER = f"{FIELD_MANAGER}-nudged-at"


_State = tuple[Reason, str]
"""What is wrong, and with which pod; empty where it is the cluster as a whole."""


class Ages:
    """Since when states last, by a clock that is never set."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin without a state."""
        self._clock = clock
        self._since: dict[_State, float] = {}

    def keep(self, present: Iterable[_State], *, inherited: str = "") -> None:
        """Take note of the states that there are now; others have ended.

        Those with the reason `inherited` are long known.
        """
        now = self._clock()
        self._since = {
            state: self._since.get(state, float("-inf") if state[0] == inherited else now)
            for state in present
        }

    def of(self, reason: Reason, pod: str = "") -> float:
        """Return the seconds for which a state has lasted, 0 for one that there is not."""
        now = self._clock()
        return now - self._since.get((reason, pod), now)


class Unready:
    """Finds out why one cluster is not ready."""

    def __init__(self, kube: Kube, observer: Observer, clock: Callable[[], float]) -> None:
        """Begin with a cluster of which nothing is known."""
        self._kube, self._observer, self._clock = kube, observer, clock
        self._ages = Ages(clock)
        self._takes_over = True
        self._diagnosed = self._nudged = float("-inf")
        self._troubles: tuple[Trouble, ...] = ()

    async def diagnose(
        self, cluster: PartisanCluster, observation: Observation, certificate: str
    ) -> Problem | None:
        """Return what is wrong with a cluster that is not ready, asking for details rarely.

        `certificate` says what the pods' certificate waits for.
        """
        # What the status reports at first was found by the operator before this one.
        inherited = _reported(cluster) if self._takes_over else ""
        self._takes_over = False
        ready = cluster.status.condition(ConditionType.READY)
        if ready is None or ready.status == "True":
            self._troubles = ()
            self._ages.keep(())
            return None
        began = self._clock()
        if began - self._diagnosed >= _DIAGNOSIS_PERIOD:
            self._diagnosed = began
            self._troubles = await self._observer.troubles(cluster, observation)
            await self._nudge(cluster, observation)
        unready, silent = observation.unready(cluster), observation.silent()
        troubles = [trouble for trouble in self._troubles if trouble.pod in unready]
        reports = observation.reports(naming.pod_names(cluster.name, cluster.spec.replicas))
        joined = sum(report.overlay.joined for report in reports.values())
        graph = analyse({name: report.overlay.active for name, report in reports.items()})
        parted = graph.components > 1 and joined == cluster.spec.replicas
        present = {
            Reason.CERTIFICATE_NOT_ISSUED: bool(certificate),
            Reason.NODES_SILENT: bool(silent),
            Reason.OVERLAY_PARTITIONED: parted,
        }
        states = [(reason, "") for reason, there in present.items() if there]
        states += [(trouble.reason, trouble.pod) for trouble in troubles]
        self._ages.keep(states, inherited=inherited)
        age = self._ages.of
        return (
            not_issued(certificate, age(Reason.CERTIFICATE_NOT_ISSUED))
            or explain(
                troubles,
                unready_pods=len(unready),
                seeds=seed_names(cluster),
                lasted=lambda trouble: age(trouble.reason, trouble.pod),
            )
            or silence(silent, age(Reason.NODES_SILENT))
            or partition(graph.components, joined, age(Reason.OVERLAY_PARTITIONED))
        )

    async def _nudge(self, cluster: PartisanCluster, observation: Observation) -> None:
        """Make StatefulSets try again to create the pods that they could not create.

        Their controller backs off up to a quarter of an hour, and does not notice that a quota
        was raised. Any change of the object makes it try again.
        """
        creation = (Reason.QUOTA_EXCEEDED, Reason.POD_REJECTED)
        failed = any(trouble.reason in creation for trouble in self._troubles)
        if not failed or self._clock() - self._nudged < _NUDGE_PERIOD or cluster.spec.paused:
            return
        self._nudged = self._clock()
        for shard in observation.shards(cluster):
            if shard.exists < shard.wanted:
                # By a manager of its own: no apply of ours takes it away.
                await self._kube.merge(
                    "StatefulSet",
                    cluster.namespace,
                    shard.name,
                    {"metadata": {"annotations": {_NUDGE_ANNOTATION: to_wire(utc_now())}}},
                    manager=_NUDGE_MANAGER,
                )


def _reported(cluster: PartisanCluster) -> str:
    """Return the reason for which the status calls the cluster degraded; empty if it does not."""
    degraded = cluster.status.condition(ConditionType.DEGRADED)
    return degraded.reason if degraded is not None and degraded.status == "True" else ""
