"""Which clusters may follow a new default image of the operator now.

The default image concerns every cluster without `spec.image`, so a broken one could take all of
them down. A few clusters roll at a time, and a cluster that is degraded with the new image halts
the others. Until its turn a cluster keeps the image that its StatefulSets have, and is maintained
with that.

Each operator decides for one cluster at a time from the status of all. They agree without talking
to each other: the queue has the same order for all of them, and a cluster leaves it by its status.
"""

from collections.abc import Collection
from dataclasses import dataclass

from partisan_operator.decide.templates import image_of, live_templates
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import UNFOLLOWED, shortened
from partisan_operator.models.status import DefaultImageStatus, FleetRollout
from partisan_operator.observe.fleet import FLEET_ANNOTATION, IGNORED, Member
from partisan_operator.observe.observation import Observation

WAITING = "WaitingForFleet"
"""Reason of `Progressing` while a new default image waits for other clusters to roll."""

HALTED = "FleetHalted"
"""Reason of `Progressing` while it waits because another cluster is degraded with it."""


@dataclass(frozen=True)
class Hold:
    """Why a cluster does not follow the default image yet."""

    reason: str
    message: str


def hold(own: Member, fleet: Collection[Member], image: str, limit: int) -> Hold | None:
    """Return why a cluster waits with the default image; None if it is its turn.

    `fleet` are all clusters without `spec.image`, `own` included; at most `limit` of them roll. The
    queue has the clusters first that still roll to a previous default: they are not complete
    anyway, and the new image may be their repair, so that nothing halts them. Clusters that were
    degraded before come later, and those last whose spec is not followed: they do not take their
    turn. Paused ones take no place, and ignored ones only their own.
    """
    if own.image == image:
        return None
    followed = [member for member in fleet if member.image == image and not member.ignored]
    broken = [member for member in followed if member.degraded and member.rolled]
    if broken and not own.rolling:
        return _halted(min(broken, key=_key), image)
    waiting = [member for member in fleet if member.image != image and not member.paused]
    queue = sorted(
        (member for member in waiting if not member.ignored or member.key == own.key), key=_order
    )
    rolling = sorted((each for each in followed if each.rolling and not each.paused), key=_key)
    if own in queue[: max(0, limit - len(rolling))]:
        return None
    return _waiting(next(iter([*rolling, *queue]), own), image, limit)


def unlisted(image: str, why: str) -> Hold:
    """Return the hold of a cluster while the state of the others is unknown."""
    return Hold(
        WAITING,
        f"The operator's new default image {image} waits: the other clusters cannot be listed"
        f" ({shortened(why)}). The operator tries again.",
    )


def running_image(cluster: PartisanCluster, observation: Observation, image: str) -> str:
    """Return the image in the templates of a cluster's StatefulSets; empty if there are none.

    A cluster of which one StatefulSet has the default `image` follows it already.
    """
    found = [image_of(template) for template in live_templates(cluster, observation)]
    if image in found:
        return image
    return found[0] if found else ""


def followed_image(
    cluster: PartisanCluster, observation: Observation, running: str, wanted: str, default: str
) -> DefaultImageStatus | None:
    """Return the record of the default image after a plan.

    None for a cluster with its own image, and for one that may adopt the StatefulSets that are
    there. `running` is the `running_image` before the plan, `wanted` the one after it: the
    operator's `default`, or `running` while the default waits or the plan leaves the pods as they
    are.
    """
    others = not running and any(kind == "StatefulSet" for kind, _ in observation.live)
    if cluster.spec.image or others:
        return None
    earlier = cluster.status.default_image
    if earlier is not None and earlier.image == wanted:
        return earlier
    # A record of another image: the operator ended between the change and its status.
    begun = bool(running) and (running != default or earlier is not None)
    rolls = wanted == default and begun
    return DefaultImageStatus(
        image=wanted, rollout=FleetRollout.ROLLING if rolls else FleetRollout.CREATED
    )


def _waiting(first: Member, image: str, limit: int) -> Hold:
    state = "rolls" if first.image == image else "is the next"
    return Hold(
        WAITING,
        f"The operator's new default image {image} waits until fewer than {limit} other clusters"
        f" roll to it (the chart's fleet.maxRollingClusters): {first.namespace}/{first.name}"
        f" {state}. To roll this cluster now, set spec.image to it.",
    )


def _halted(broken: Member, image: str) -> Hold:
    where = f"-n {broken.namespace} {broken.name}"
    return Hold(
        HALTED,
        f"The operator's new default image {image} waits: cluster"
        f" {broken.namespace}/{broken.name}, which has it, is degraded ({broken.degraded}). It"
        " continues when that cluster is healthy. To continue without it: kubectl annotate pcl"
        f" {where} {FLEET_ANNOTATION}={IGNORED}",
    )


def _key(member: Member) -> tuple[str, str]:
    return member.key


def _order(member: Member) -> tuple[bool, bool, bool, tuple[str, str]]:
    stays = member.degraded in UNFOLLOWED
    return stays, not member.rolling, bool(member.degraded), member.key
