"""Kubernetes Events: the steps of a cluster that matter to people.

Events follow from the difference between the live status and the new one. The status outlives the
operator, so a restart repeats none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from partisan_operator.children.child import digest
from partisan_operator.decide.fleet import HALTED, WAITING
from partisan_operator.models import PartisanClusterStatus
from partisan_operator.models.clock import seconds_between
from partisan_operator.models.status import ConditionType, Rotation
from partisan_operator.models.workload import AD_COUNTER
from partisan_operator.status.conditions import ROLLING_OUT, SETTLED


@dataclass(frozen=True)
class Announcement:
    """One Event of a cluster."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    recurs: bool = False
    """Whether the reason alone identifies the Event, as for a recurring condition: the next one
    increments its count and replaces its message."""

    def digest(self, uid: str) -> str:
        """Return what identifies this Event among all of the cluster with that uid."""
        text = "" if self.recurs else self.message
        return digest([uid, self.type, self.reason, text])


def announcements(
    old: PartisanClusterStatus, new: PartisanClusterStatus
) -> tuple[Announcement, ...]:
    """Return the Events of the step from one status to the next."""
    return (
        *_overlay(old, new),
        *_switch(old, new),
        *_run(old, new),
        *_certificates(old, new),
        *_health(old, new),
        *_work(old, new),
        *_development(old, new),
    )


def _overlay(old: PartisanClusterStatus, new: PartisanClusterStatus) -> Iterator[Announcement]:
    if new.timings.joined_at and new.timings.joined_at != old.timings.joined_at:
        seconds = seconds_between(new.timings.applied_at, new.timings.joined_at) or 0.0
        yield Announcement(
            "Normal",
            "OverlayFormed",
            f"{new.joined} nodes joined one overlay, {seconds:.1f} s after the spec was applied",
        )


def _switch(old: PartisanClusterStatus, new: PartisanClusterStatus) -> Iterator[Announcement]:
    if old.overlay is None or new.overlay is None:
        return
    before, after = old.overlay.previous_kind, new.overlay.previous_kind
    if before is None and after is not None:
        yield Announcement(
            "Normal",
            "OverlaySwitchStarted",
            f"{new.overlay.kind} and {after} run next to each other, no pod is restarted",
        )
    elif before is not None and after is None:
        yield Announcement(
            "Normal", "OverlaySwitched", f"{new.configured} nodes run {new.overlay.kind} alone"
        )


def _run(old: PartisanClusterStatus, new: PartisanClusterStatus) -> Iterator[Announcement]:
    if new.workload is None:
        return
    same = old.workload is not None and old.workload.run == new.workload.run
    before = old.workload if same else None
    if new.workload.started_at and not (before and before.started_at):
        yield Announcement("Normal", "RunStarted", f"Run {new.workload.run} started")
    replaced = new.workload.replaced_nodes - (before.replaced_nodes if before else 0)
    if replaced > 0:
        yield Announcement(
            "Warning",
            "NodesReplaced",
            f"{replaced} nodes lost their state during run {new.workload.run}",
        )
    if new.workload.phase == "Finished" and not (before and before.phase == "Finished"):
        run = new.workload
        result = f"Every node holds {run.value}"
        if run.module == AD_COUNTER:
            result = (
                f"Every node counts {run.value} of {run.threshold} impressions"
                f" ({run.overcounting_percent or 0:.2f} % over), {run.lost_increments} lost"
            )
        yield Announcement("Normal", "RunConverged", result)


def _certificates(old: PartisanClusterStatus, new: PartisanClusterStatus) -> Iterator[Announcement]:
    before, after = old.cluster_ca, new.cluster_ca
    if before is None or after is None:
        return
    step = before.rotation, after.rotation
    if step == (Rotation.SETTLED, Rotation.DISTRIBUTING):
        yield Announcement(
            "Normal",
            "AuthorityRotationStarted",
            "A new authority replaces the old one as nodes come to trust it",
        )
    elif step == (Rotation.RETIRING, Rotation.SETTLED):
        yield Announcement(
            "Normal", "AuthorityRotated", "Nodes use and trust the new authority alone"
        )
    renewed = after.certificate_expires_at
    if before.certificate_expires_at and renewed not in (None, before.certificate_expires_at):
        yield Announcement(
            "Normal", "CertificateRenewed", f"The nodes' certificate is valid until {renewed}"
        )


def _health(old: PartisanClusterStatus, new: PartisanClusterStatus) -> Iterator[Announcement]:
    before, after = old.condition(ConditionType.DEGRADED), new.condition(ConditionType.DEGRADED)
    if after is None:
        return
    if after.status == "True" and (before is None or before.reason != after.reason):
        yield Announcement("Warning", after.reason, after.message, recurs=True)
    elif after.status == "False" and before is not None and before.status == "True":
        yield Announcement("Normal", "Recovered", f"No longer: {before.reason}")


def _work(old: PartisanClusterStatus, new: PartisanClusterStatus) -> Iterator[Announcement]:
    rolling = _reason(old) == ROLLING_OUT, _reason(new) == ROLLING_OUT
    if rolling == (False, True):
        condition = new.condition(ConditionType.PROGRESSING)
        yield Announcement("Normal", "RolloutStarted", condition.message if condition else "")
    elif rolling == (True, False) and _reason(new) == SETTLED:
        yield Announcement("Normal", "RolloutFinished", f"All {new.updated} pods are up to date")
    if _reason(new) in (WAITING, HALTED) and _reason(new) != _reason(old):
        condition = new.condition(ConditionType.PROGRESSING)
        yield Announcement(
            "Warning" if _reason(new) == HALTED else "Normal",
            _reason(new),
            condition.message if condition else "",
            recurs=True,
        )
    if _turned(old, new, ConditionType.PAUSED, "True"):
        yield Announcement("Normal", "Paused", "spec.paused is true: nothing is changed")
    elif _turned(old, new, ConditionType.PAUSED, "False"):
        yield Announcement("Normal", "Resumed", "spec.paused is false")


def _development(old: PartisanClusterStatus, new: PartisanClusterStatus) -> Iterator[Announcement]:
    condition = new.condition(ConditionType.DEVELOPMENT)
    if condition is not None and old.condition(ConditionType.DEVELOPMENT) is None:
        yield Announcement("Warning", condition.reason, condition.message)


def _reason(status: PartisanClusterStatus) -> str:
    condition = status.condition(ConditionType.PROGRESSING)
    return "" if condition is None else condition.reason


def _turned(
    old: PartisanClusterStatus, new: PartisanClusterStatus, kind: ConditionType, status: str
) -> bool:
    """Whether a condition changed to that status from another one."""
    before, after = old.condition(kind), new.condition(kind)
    return (
        before is not None
        and after is not None
        and before.status != status
        and after.status == status
    )
