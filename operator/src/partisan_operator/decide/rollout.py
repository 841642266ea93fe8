"""Which pods a rollout replaces next.

The StatefulSets are `OnDelete`: a deleted pod is recreated from the newest template. Pods are
replaced in batches. The next batch waits until the last one is back in the overlay and the overlay
is one component, so that a broken template takes at most one batch of nodes down.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from partisan_operator.children import naming
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Reason
from partisan_operator.models.quantities import share
from partisan_operator.models.status import ConditionType
from partisan_operator.observe.observation import (
    Observation,
    PodRevision,
    SecretState,
    ShardState,
)


@dataclass(frozen=True)
class Batch:
    """The pods to delete now."""

    pods: tuple[PodRevision, ...]
    outdated: int
    """Pods of older revisions, those of the batch included."""


def batch_of(cluster: PartisanCluster, observation: Observation) -> Batch:
    """Return the next batch of a cluster; none where pods were not listed."""
    if observation.pods is None:
        return Batch((), 0)
    batch = next_batch(
        shards=observation.shards(cluster),
        pods=observation.pods,
        expected=naming.pod_names(cluster.name, cluster.spec.replicas),
        available=observation.available(),
        connected=observation.graph(cluster).components == 1,
        max_unavailable=share(cluster.spec.rollout.max_unavailable, cluster.spec.replicas),
        all_crash=_all_crash(cluster, observation),
    )
    # Without the token a replaced pod would not start.
    lost = observation.token.state is SecretState.LOST
    return replace(batch, pods=()) if lost else batch


def _all_crash(cluster: PartisanCluster, observation: Observation) -> bool:
    """Whether all pods are in a crash loop.

    It is not enough that none is ready: after a power failure all start again, with the state in
    their pods.
    """
    degraded = cluster.status.condition(ConditionType.DEGRADED)
    crashing = degraded is not None and degraded.reason == Reason.CRASH_LOOPING
    return crashing and not any(entry.ready for entry in observation.endpoints.values())


def next_batch(
    *,
    shards: Sequence[ShardState],
    pods: Sequence[PodRevision],
    expected: Sequence[str],
    available: Set[str],
    connected: bool,
    max_unavailable: int,
    all_crash: bool = False,
) -> Batch:
    """Return the next batch.

    `expected` names the wanted pods in the order of their ordinals; `available` holds the uids of
    those that are ready and joined (uids: a successor has the name of the pod it replaces);
    `connected` is whether the overlay is one component, `all_crash` whether all pods are in a crash
    loop.

    Three rules, in this order: 1. A pod whose container never ran holds no state and is replaced at
    once. 2. A pod that runs but is not available is replaced while fewer than `max_unavailable`
    pods are starting or not yet created: it may be unavailable only because these are missing, and
    hold the only copy of what they handed over. If all pods crash, they are replaced together: a
    single one would find no overlay to join. 3. An available pod is replaced only while everything
    else is well, and never more than `max_unavailable` pods are missing.
    """
    newest = {shard.uid: shard.revision for shard in shards if shard.settled}
    order = {name: rank for rank, name in enumerate(expected)}
    owned = [pod for pod in pods if pod.owner in newest and pod.name in order]
    outdated = sorted(
        (pod for pod in owned if pod.revision != newest[pod.owner]),
        key=lambda pod: order[pod.name],
        reverse=True,
    )
    missing = len(expected) - sum(pod.uid in available for pod in owned)
    returning = sum(pod.uid not in available for pod in owned if pod.revision == newest[pod.owner])
    absent = len(expected) - len({pod.name for pod in owned})
    never_ran = [pod for pod in outdated if pod.pending]
    unavailable = [pod for pod in outdated if not pod.pending and pod.uid not in available]
    healthy = [pod for pod in outdated if not pod.pending and pod.uid in available]

    room = len(unavailable) if all_crash else max(0, max_unavailable - returning - absent)
    batch = never_ran + unavailable[:room]
    settled = all(shard.settled for shard in shards)
    if not batch and settled and connected and returning == 0:
        batch = healthy[: max(0, max_unavailable - missing)]
    return Batch(tuple(batch), len(outdated))
