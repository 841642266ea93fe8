"""The status of a cluster, from what was seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partisan_operator import clock, rollout, workload
from partisan_operator.children import naming
from partisan_operator.children.node_config import revision, run_id
from partisan_operator.conditions import ROLLING_OUT, Facts, conditions, conditions_after_failure
from partisan_operator.diagnosis import Problem
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.models.status import (
    ChannelStatus,
    ClusterCaStatus,
    ConditionType,
    OverlayStatus,
    Phase,
    Rotation,
    Timings,
    TriState,
    WorkloadStatus,
)
from partisan_operator.models.workload import AD_COUNTER, Workload
from partisan_operator.observe.graph import analyse
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.report import NodeReport
from partisan_operator.observe.running import running_overlay
from partisan_operator.tls.prospect import Prospect
from partisan_operator.tls.rotation import Store
from partisan_operator.vanished import Vanished
from partisan_operator.workload import Ledger, Verdict

REFRESH_SECONDS = 5.0
"""Time between two writes of the status of a cluster at work when only moving figures changed."""


@dataclass(frozen=True)
class View:
    """A look at the cluster, and what the operator concluded from it so far."""

    observation: Observation
    ledger: Ledger
    acted: bool
    """Whether the look led to changes: what was seen is then not yet what the spec asks for."""

    outdated: int
    """Pods that a rollout has yet to replace."""

    kept: int
    """Nodes that are there to stay for now (`reconcile.Plan.kept`)."""

    problem: Problem | None
    channels: tuple[ChannelStatus, ...]
    tls: Prospect = field(default_factory=Prospect)
    changed: tuple[str, ...] = ()
    """Names of the objects that were changed."""


def status_of(cluster: PartisanCluster, view: View) -> tuple[PartisanClusterStatus, Ledger]:
    """Return the status to write, and the ledger of the run with these reports in it."""
    now = view.observation.at
    spec, earlier = cluster.spec, cluster.status
    expected = naming.pod_names(cluster.name, spec.replicas)
    reports = view.observation.reports(expected)
    shards = view.observation.shards(cluster)
    run, verdict, ledger = _workload(cluster, view)
    graph = analyse({name: report.overlay.active for name, report in reports.items()})
    wanted_revision = revision(cluster)
    facts = Facts(
        wanted=spec.replicas,
        exists=sum(shard.exists for shard in shards),
        ready=sum(shard.ready for shard in shards),
        joined=sum(report.overlay.joined for report in reports.values()),
        answered=len(reports),
        outdated=view.outdated,
        was_rolling=_was_rolling(earlier),
        applying=view.acted or rollout.pending(shards),
        changed=view.changed,
        overlay=running_overlay(
            (report.overlay for report in reports.values()),
            wanted=spec.overlay.kind,
            earlier=None if earlier.overlay is None else earlier.overlay.kind,
        ),
        configured=sum(report.revision == wanted_revision for report in reports.values()),
        graph=graph,
        verdict=verdict,
        run_observed_at="" if run is None else run.observed_at or "",
        discrepancy=_discrepancy(run),
        problem=view.problem,
        paused=spec.paused,
        certificate=view.tls.waiting,
        rotating=_rotating(view.tls, len(expected)),
    )
    in_force = not (facts.applying or facts.reconfiguring)
    kinds = {condition.type: condition for condition in earlier.conditions}
    status = PartisanClusterStatus(
        observed_generation=cluster.generation,
        observed_at=clock.to_wire(now),
        replicas=facts.exists,
        ready=facts.ready,
        joined=facts.joined,
        updated=sum(shard.updated for shard in shards if shard.settled),
        configured=facts.configured,
        selector=naming.selector(cluster.name),
        phase=_phase(facts, run),
        converged=_converged(facts),
        overlay=OverlayStatus(
            kind=facts.overlay.kind,
            also_running=facts.overlay.also,
            components=graph.components,
            isolated=graph.isolated,
            mean_degree=round(graph.mean_degree, 2),
            links=graph.links,
        ),
        channels=view.channels,
        workload=run,
        cluster_ca=_cluster_ca(view, len(expected)),
        timings=_timings(
            cluster,
            run,
            clock.to_wire(now),
            ready=facts.all_ready and in_force,
            joined=facts.all_ready and facts.connected and in_force,
        ),
        conditions=conditions(facts, kinds, cluster.generation, clock.to_wire(now)),
    )
    return status, ledger


def status_after_failure(
    cluster: PartisanCluster, problem: Problem, now: datetime
) -> PartisanClusterStatus:
    """Return the status of a cluster that could not be reconciled: what was known, and why not."""
    earlier = cluster.status
    kinds = {condition.type: condition for condition in earlier.conditions}
    time = clock.to_wire(now)
    return earlier.model_copy(
        update={
            "phase": Phase.DEGRADED,
            "conditions": conditions_after_failure(problem, kinds, cluster.generation, time),
        }
    )


def worth_writing(new: PartisanClusterStatus, live: PartisanClusterStatus) -> bool:
    """Say whether the new status tells enough to be written over the live one.

    Traffic and the number of links move for ever. In a cluster at work they are written now and
    then; in a settled one never, so that it costs the API server nothing.
    """
    if _lasting(new) != _lasting(live):
        return True
    settled = new.phase in (Phase.READY, Phase.CONVERGED, Phase.PAUSED)
    if new.observed_at == live.observed_at:
        return False  # no figure is newer, as after a failure
    age = clock.seconds_between(live.observed_at, new.observed_at)
    # A time to come is of another operator, whose clock was ahead of this one's.
    return not settled and (age is None or not 0 <= age < REFRESH_SECONDS)


def _lasting(status: PartisanClusterStatus) -> dict[str, Any]:
    wire = status.to_wire()
    for name in ("observedAt", "channels"):
        wire.pop(name, None)
    for name in ("meanDegree", "links"):
        (wire.get("overlay") or {}).pop(name, None)
    for name in ("bytes", "observedAt"):
        (wire.get("workload") or {}).pop(name, None)
    return wire


def _workload(
    cluster: PartisanCluster, view: View
) -> tuple[WorkloadStatus | None, Verdict | None, Ledger]:
    """Return the status of the run and whether it is over, if any; and the advanced ledger."""
    spec = cluster.spec.workload
    if spec is None:
        return None, None, Ledger()
    run = run_id(spec)
    # Nodes whose removal is refused count on.
    expected = naming.pod_names(cluster.name, view.kept)
    reports = view.observation.reports(expected)
    earlier = cluster.status.workload
    if earlier is not None and earlier.run != run:
        earlier = None
    known = Vanished() if earlier is None else Vanished(earlier.retired, earlier.folded)
    ledger, gone = workload.advance(view.ledger, known, run, expected, reports)
    verdict = workload.verdict(run, expected, reports)
    measured = workload.measure(
        ledger,
        gone,
        reports,
        module=spec.module,
        threshold=_threshold(spec, run, reports),
        earlier=earlier,
        finished=verdict.converged,
        now=view.observation.at.timestamp(),
    )
    return measured, verdict, ledger


def _converged(facts: Facts) -> TriState:
    if facts.verdict is None or facts.nobody_tells:
        return "Unknown"
    return "True" if facts.verdict.converged and not facts.discrepancy else "False"


def _threshold(spec: Workload, run: str, reports: dict[str, NodeReport]) -> int:
    """Return the value that ends the run: the spec's, or where only the nodes know it, theirs."""
    if spec.ad_counter is not None:
        return spec.ad_counter.ads * spec.ad_counter.impressions
    return workload.told_threshold(run, reports)


def _cluster_ca(view: View, nodes: int) -> ClusterCaStatus | None:
    """Return what is told of the cluster's own authority; None where it has none."""
    store, outlook = view.observation.tls, view.tls.outlook
    if outlook is None or not isinstance(store, Store):
        return None
    authority = None if store.authority is None else store.authority.certificate
    certificate = None if store.nodes is None else store.nodes.certificate
    return ClusterCaStatus(
        rotation=outlook.rotation,
        loaded=max(0, nodes - len(outlook.behind)),
        certificate_expires_at=None
        if certificate is None
        else clock.to_wire(certificate.not_after),
        authority_expires_at=None if authority is None else clock.to_wire(authority.not_after),
    )


def _rotating(tls: Prospect, nodes: int) -> str:
    """Say how far the replacement of the authority is; empty when there is none."""
    outlook = tls.outlook
    if outlook is None or outlook.rotation is Rotation.SETTLED:
        return ""
    aim = (
        "show a certificate of the new authority"
        if outlook.rotation is Rotation.RETIRING
        else "believe the new authority besides the old one"
    )
    waits = f"; {outlook.behind[0]} does not yet" if outlook.behind else ""
    return f"{max(0, nodes - len(outlook.behind))} of {nodes} nodes {aim}{waits}"


def _was_rolling(status: PartisanClusterStatus) -> bool:
    progressing = status.condition(ConditionType.PROGRESSING)
    return progressing is not None and progressing.reason == ROLLING_OUT


def _discrepancy(run: WorkloadStatus | None) -> str:
    """Say how a finished run's counter differs from what the nodes say they counted."""
    if run is None or run.module != AD_COUNTER or run.phase != "Finished":
        return ""
    held = run.increments_sum - run.lost_increments
    if run.value == held:
        return ""
    return (
        f"The counter is {run.value}, but the nodes made {run.increments_sum} increments, of which"
        f" {run.lost_increments} were lost"
    )


def _phase(facts: Facts, run: WorkloadStatus | None) -> Phase:
    if facts.paused:
        return Phase.PAUSED
    if facts.problem is not None:
        return Phase.DEGRADED
    if run is not None and run.phase == "Running":
        return Phase.RUNNING
    if facts.exists == 0:
        return Phase.PENDING
    if facts.outdated or facts.reconfiguring:
        return Phase.UPDATING
    if not (facts.all_ready and facts.connected):
        return Phase.FORMING
    if run is not None and run.phase == "Finished" and facts.verdict and facts.verdict.converged:
        return Phase.CONVERGED
    return Phase.READY


def _timings(
    cluster: PartisanCluster, run: WorkloadStatus | None, now: str, *, ready: bool, joined: bool
) -> Timings:
    """Return when the milestones were first reached; a new generation starts anew."""
    earlier = cluster.status.timings
    if cluster.status.observed_generation != cluster.generation:
        first = cluster.status.observed_generation is None
        earlier = Timings(applied_at=cluster.created_at if first else now)
    return Timings(
        applied_at=earlier.applied_at,
        ready_at=earlier.ready_at or (now if ready else None),
        joined_at=earlier.joined_at or (now if joined else None),
        started_at=None if run is None else run.started_at,
        converged_at=None if run is None else run.finished_at,
    )
