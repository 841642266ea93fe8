"""Which pods a rollout replaces next.

The StatefulSets are `OnDelete`: a pod is made from the newest template when it is deleted. Pods
go in batches. The next batch waits until the last one is back in the overlay and the overlay is
one component, so that a template that does not work takes at most one batch of nodes down.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from partisan_operator.observe.observation import PodRevision, ShardState


@dataclass(frozen=True)
class Batch:
    """The pods to delete now."""

    pods: tuple[PodRevision, ...]
    outdated: int
    """Pods that are not of the newest revision, those of the batch included."""


def pending(shards: Sequence[ShardState]) -> bool:
    """Say whether some pods may not be of the newest revision."""
    return any(not shard.settled or shard.updated < shard.exists for shard in shards)


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

    `expected` names the pods that the spec asks for, in the order of their ordinals; `available`
    holds the uids of those that are ready and joined (uids, for a successor has the name of the
    pod it replaces); `connected` says whether the overlay is one component; `all_crash`
    that pods crash again and again, and none is ready.

    Three rules, in this order:
    a pod whose container never ran holds nothing and serves nobody: it is replaced at once;
    a pod that runs but is not available may be replaced while fewer than `max_unavailable`
    pods are on their way back, those included that are yet to be made: it may be out of the
    overlay for want of just these, and be the only one that knows what they handed over. Where
    all crash they are replaced together, for none could come back into an overlay that has no
    other node;
    an available pod is replaced only while everything else is well, and never more than
    `max_unavailable` pods are missing.
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
