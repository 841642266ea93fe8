"""Makes StatefulSets retry the creation of pods."""

from collections.abc import Callable, Iterable

from partisan_operator.api.kube import FIELD_MANAGER, Kube
from partisan_operator.models import PartisanCluster
from partisan_operator.models.clock import to_wire, utc_now
from partisan_operator.models.problem import Reason
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.pod_failures import PodFailure

_PERIOD = 10.0
_ANNOTATION = "partisan.dev/nudged-at"
_MANAGER = f"{FIELD_MANAGER}-nudged-at"
"""A field manager of its own, so that no apply of ours removes the annotation."""

_CREATION = (Reason.QUOTA_EXCEEDED, Reason.POD_REJECTED)


class Nudge:
    """The nudges of one cluster's StatefulSets.

    Their controller backs off for up to a quarter of an hour and does not notice that a quota was
    raised. Any change of the object makes it retry.
    """

    def __init__(self, kube: Kube, clock: Callable[[], float]) -> None:
        """Begin without a nudge; `clock` returns monotonic seconds."""
        self._kube, self._clock = kube, clock
        self._last = float("-inf")

    async def retry(
        self, cluster: PartisanCluster, observation: Observation, failures: Iterable[PodFailure]
    ) -> None:
        """Nudge StatefulSets that lack pods, if some could not be created. Raises `KubeError`."""
        failed = any(failure.reason in _CREATION for failure in failures)
        if not failed or self._clock() - self._last < _PERIOD or cluster.spec.paused:
            return
        self._last = self._clock()
        for shard in observation.shards(cluster):
            if shard.exists < shard.wanted:
                await self._kube.merge(
                    "StatefulSet",
                    cluster.namespace,
                    shard.name,
                    {"metadata": {"annotations": {_ANNOTATION: to_wire(utc_now())}}},
                    manager=_MANAGER,
                )
