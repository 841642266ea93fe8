"""Why one cluster is not ready: its failures, how long each has lasted, and the one to report."""

from collections.abc import Callable

from partisan_operator.children import naming
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Problem, Reason
from partisan_operator.models.status import ConditionType
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.pod_failures import PodFailure
from partisan_operator.status.diagnosis import explain, not_issued, partition, silence
from partisan_operator.status.durations import Durations

_PERIOD = 3.0
"""Seconds between two reads of pods."""


class Unready:
    """The diagnosis of one cluster, carried from one reconcile to the next."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin with an unknown cluster; `clock` returns monotonic seconds."""
        self._clock = clock
        self._durations = Durations(clock)
        self._takes_over = True
        self._read_at = float("-inf")
        self._failures: tuple[PodFailure, ...] = ()

    def is_due(self, cluster: PartisanCluster) -> bool:
        """Whether pods are to be read: the cluster is not ready, and the last read is old."""
        return _is_unready(cluster) and self._clock() - self._read_at >= _PERIOD

    def begin(self) -> None:
        """Record that pods are read now, whether or not that succeeds."""
        self._read_at = self._clock()

    def found(self, failures: tuple[PodFailure, ...]) -> None:
        """Record why pods are not ready."""
        self._failures = failures

    def problem(
        self, cluster: PartisanCluster, observation: Observation, certificate: str
    ) -> Problem | None:
        """Return the problem to report; None when the cluster is ready, or may soon be.

        `certificate` is why the pods' certificate is missing, empty if it exists.
        """
        # A previous operator found what the status reports at first.
        inherited = cluster.status.degraded if self._takes_over else ""
        self._takes_over = False
        if not _is_unready(cluster):
            self._failures = ()
            self._durations.keep(())
            return None
        unready, silent = observation.unready(cluster), observation.silent()
        failures = [failure for failure in self._failures if failure.pod in unready]
        expected = naming.pod_names(cluster.name, cluster.spec.replicas)
        reports = observation.reports(expected).values()
        joined = sum(report.overlay.joined for report in reports)
        components = observation.graph(cluster).components
        present = {
            Reason.CERTIFICATE_NOT_ISSUED: bool(certificate),
            Reason.NODES_SILENT: bool(silent),
            Reason.OVERLAY_PARTITIONED: components > 1 and joined == cluster.spec.replicas,
        }
        states = [(reason, "") for reason, there in present.items() if there]
        states += [(failure.reason, failure.pod) for failure in failures]
        self._durations.keep(states, inherited=inherited)
        lasted = self._durations.of
        seeds = cluster.spec.discovery.seeds
        return (
            not_issued(certificate, lasted(Reason.CERTIFICATE_NOT_ISSUED))
            or explain(
                failures,
                unready_pods=len(unready),
                seeds=naming.seed_names(cluster.name, cluster.spec.replicas, seeds),
                lasted=lambda failure: lasted(failure.reason, failure.pod),
            )
            or silence(silent, lasted(Reason.NODES_SILENT))
            or partition(components, joined, lasted(Reason.OVERLAY_PARTITIONED))
        )


def _is_unready(cluster: PartisanCluster) -> bool:
    """Whether the status reports that the cluster is not ready."""
    ready = cluster.status.condition(ConditionType.READY)
    return ready is not None and ready.status != "True"
