"""The status of a cluster, from an observation and the plan that followed from it."""

from dataclasses import dataclass
from datetime import datetime

from partisan_operator.children import naming
from partisan_operator.children.node_config import revision, run_id
from partisan_operator.decide.actions import Plan
from partisan_operator.decide.certificates import CertificatePlan
from partisan_operator.decide.fleet import Hold
from partisan_operator.models import PartisanCluster, PartisanClusterStatus, clock
from partisan_operator.models.problem import UNFOLLOWED, Problem
from partisan_operator.models.spec import MAX_REPLICAS
from partisan_operator.models.status import (
    ChannelStatus,
    ClusterCaStatus,
    Condition,
    ConditionType,
    DefaultImageStatus,
    FleetRollout,
    OverlayStatus,
    Phase,
    Rotation,
    Timings,
    TriState,
    WorkloadStatus,
)
from partisan_operator.models.workload import AD_COUNTER, Workload
from partisan_operator.observe.certificates import Store
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.report import NodeReport
from partisan_operator.observe.running import running_overlay
from partisan_operator.status import run as workload
from partisan_operator.status.conditions import (
    ALL_JOINED,
    ROLLING_OUT,
    SETTLED,
    Facts,
    conditions,
    conditions_after_failure,
)
from partisan_operator.status.departed import DepartedActors
from partisan_operator.status.run import Ledger, Verdict


@dataclass(frozen=True)
class Findings:
    """The results of one reconcile."""

    observation: Observation
    plan: Plan
    ledger: Ledger
    """Of the run, as of the previous reconcile."""

    problem: Problem | None = None
    """Why the cluster is degraded."""

    channels: tuple[ChannelStatus, ...] = ()
    hold: Hold | None = None
    """Why the operator's default image is not followed yet."""

    default_image: DefaultImageStatus | None = None
    """The default image that the plan follows."""


def status_of(cluster: PartisanCluster, findings: Findings) -> tuple[PartisanClusterStatus, Ledger]:
    """Return the status to write, and the ledger of the run advanced by these reports."""
    observation, plan = findings.observation, findings.plan
    now = observation.at
    spec, earlier = cluster.spec, cluster.status
    expected = naming.pod_names(cluster.name, spec.replicas)
    reports = observation.reports(expected)
    shards = observation.shards(cluster)
    run, verdict, ledger = _workload(cluster, findings)
    graph = observation.graph(cluster)
    wanted_revision = revision(cluster)
    facts = Facts(
        wanted=spec.replicas,
        exists=sum(shard.exists for shard in shards),
        ready=sum(shard.ready for shard in shards),
        joined=sum(report.overlay.joined for report in reports.values()),
        answered=len(reports),
        outdated=plan.outdated,
        was_rolling=_was_rolling(earlier),
        applying=bool(plan.changes) or observation.rolling(cluster),
        changed=plan.changes,
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
        problem=findings.problem,
        paused=spec.paused,
        development=spec.development,
        certificate=plan.tls.waiting,
        rotating=_rotating(plan.tls, len(expected)),
        hold=findings.hold,
    )
    followed = plan.problem is None or plan.problem.reason not in UNFOLLOWED
    in_force = followed and not (facts.applying or facts.reconfiguring)
    kinds = {condition.type: condition for condition in earlier.conditions}
    stated = conditions(facts, kinds, cluster.generation, clock.to_wire(now))
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
            previous_kind=facts.overlay.previous,
            also_running=facts.overlay.previous,
            components=graph.components,
            isolated=graph.isolated,
            mean_degree=round(graph.mean_degree, 2),
            links=graph.links,
        ),
        channels=findings.channels,
        workload=run,
        cluster_ca=_cluster_ca(findings, len(expected)),
        timings=_timings(
            cluster,
            run,
            clock.to_wire(now),
            ready=facts.all_ready and in_force,
            joined=facts.all_ready and facts.connected and in_force,
        ),
        default_image=_default_image(findings.default_image, earlier, stated),
        conditions=stated,
    )
    return status, ledger


def status_after_failure(
    cluster: PartisanCluster, problem: Problem, now: datetime
) -> PartisanClusterStatus:
    """Return the last known status of a cluster that could not be reconciled, with the reason."""
    earlier = cluster.status
    kinds = {condition.type: condition for condition in earlier.conditions}
    time = clock.to_wire(now)
    return earlier.model_copy(
        update={
            "phase": Phase.DEGRADED,
            "conditions": conditions_after_failure(problem, kinds, cluster.generation, time),
        }
    )


def _workload(
    cluster: PartisanCluster, findings: Findings
) -> tuple[WorkloadStatus | None, Verdict | None, Ledger]:
    """Return the status of the run and its verdict, if any, and the advanced ledger."""
    spec = cluster.spec.workload
    if spec is None:
        return None, None, Ledger()
    run = run_id(spec)
    # Nodes whose removal is rejected continue to count.
    expected = naming.pod_names(cluster.name, findings.plan.kept)
    reports = findings.observation.reports(expected)
    earlier = cluster.status.workload
    if earlier is not None and earlier.run != run:
        earlier = None
    known = DepartedActors() if earlier is None else DepartedActors(earlier.retired, earlier.folded)
    # A backup may be of a larger cluster.
    most = MAX_REPLICAS if cluster.spec.restore is not None else 0
    restored = naming.pod_names(cluster.name, most)
    ledger, gone = workload.advance(findings.ledger, known, run, expected, reports, restored)
    verdict = workload.verdict(run, expected, reports)
    measured = workload.measure(
        ledger,
        gone,
        reports,
        module=spec.module,
        threshold=_threshold(spec, run, reports),
        earlier=earlier,
        finished=verdict.converged,
        now=findings.observation.at.timestamp(),
    )
    return measured, verdict, ledger


def _converged(facts: Facts) -> TriState:
    if facts.verdict is None or facts.run_unknown:
        return "Unknown"
    return "True" if facts.verdict.converged and not facts.discrepancy else "False"


def _threshold(spec: Workload, run: str, reports: dict[str, NodeReport]) -> int:
    """Return the value that ends the run: from the spec, or else as reported by the nodes."""
    if spec.ad_counter is not None:
        return spec.ad_counter.ads * spec.ad_counter.impressions
    return workload.reported_threshold(run, reports)


def _cluster_ca(findings: Findings, nodes: int) -> ClusterCaStatus | None:
    """Return the status of the cluster's own authority; None where it has none."""
    store, outlook = findings.observation.tls, findings.plan.tls.outlook
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


def _rotating(tls: CertificatePlan, nodes: int) -> str:
    """Return the progress of the authority's replacement; empty when there is none."""
    outlook = tls.outlook
    if outlook is None or outlook.rotation is Rotation.SETTLED:
        return ""
    aim = (
        "use a certificate of the new authority"
        if outlook.rotation is Rotation.RETIRING
        else "trust the new authority next to the old one"
    )
    waits = f"; {outlook.behind[0]} does not yet" if outlook.behind else ""
    return f"{max(0, nodes - len(outlook.behind))} of {nodes} nodes {aim}{waits}"


def _default_image(
    followed: DefaultImageStatus | None,
    earlier: PartisanClusterStatus,
    stated: tuple[Condition, ...],
) -> DefaultImageStatus | None:
    """Return the default image, rolled out once the cluster has settled with it."""
    if followed is None or followed != earlier.default_image:
        return followed
    rolling = followed.rollout is FleetRollout.ROLLING
    reasons = {condition.reason for condition in stated}
    if rolling and {ALL_JOINED, SETTLED} <= reasons:
        return followed.model_copy(update={"rollout": FleetRollout.ROLLED_OUT})
    return followed


def _was_rolling(status: PartisanClusterStatus) -> bool:
    progressing = status.condition(ConditionType.PROGRESSING)
    return progressing is not None and progressing.reason == ROLLING_OUT


def _discrepancy(run: WorkloadStatus | None) -> str:
    """Return how a finished run's counter differs from the reported increments."""
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
    """Return when the milestones were first reached by this generation."""
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
