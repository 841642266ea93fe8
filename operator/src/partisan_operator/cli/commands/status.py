"""`status [NAME]`: what is wrong and what to do next, on one screen; or a list of all clusters."""

import math
from argparse import Namespace
from collections.abc import Sequence
from datetime import datetime
from textwrap import wrap

from partisan_operator.children import naming
from partisan_operator.children.shared_secrets import BEARER, TOKEN
from partisan_operator.cli import access
from partisan_operator.cli.access import OPERATOR_LABELS, Context
from partisan_operator.cli.kubectl import Json
from partisan_operator.cli.text import plural, since, size, table
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Problem, Reason
from partisan_operator.models.status import ConditionType
from partisan_operator.models.workload import AD_COUNTER
from partisan_operator.observe.pod_failures import PodFailure, failure_of
from partisan_operator.status.diagnosis import explain

DEGRADED = 3
"""Exit status when something is wrong with the cluster, for scripts."""

WIDTH = 90
"""Width of the verdict's lines, in characters."""

_CONDITION_ORDER = tuple(ConditionType)


def run(context: Context, arguments: Namespace) -> int:
    """Write a cluster's screen, or the list of all; return `DEGRADED` when something is wrong."""
    if arguments.name is None:
        return _run_all(context)
    cluster = access.cluster_of(context, arguments.name)
    pods = access.pods_of(context, cluster.name)
    failures = [failure for pod in pods if (failure := failure_of(pod))]
    problem = problem_of(cluster, failures)
    context.write(screen(context, cluster, pods))
    context.write("")
    context.write(verdict(cluster, problem, failures))
    return DEGRADED if problem else 0


def _run_all(context: Context) -> int:
    clusters = access.clusters_of(context)
    if not clusters:
        context.write(
            f"There is no PartisanCluster in namespace {context.namespace}: choose another with -n,"
            " see kubectl get pcl -A."
        )
        return 0
    context.write(overview(context, clusters))
    return DEGRADED if any(problem_of(cluster, ()) for cluster in clusters) else 0


def overview(context: Context, clusters: Sequence[PartisanCluster]) -> str:
    """Return a table of clusters, one on each line."""
    now = context.now()
    rows = [
        (
            cluster.name,
            cluster.status.phase.value,
            f"{cluster.status.joined}/{cluster.spec.replicas}",
            str(cluster.status.overlay.kind if cluster.status.overlay else "-"),
            cluster.status.workload.phase if cluster.status.workload else "-",
            since(cluster.created_at, now),
            _as_of(cluster, now),
            problem.reason if (problem := problem_of(cluster, ())) else "-",
        )
        for cluster in clusters
    ]
    header = ("NAME", "PHASE", "JOINED", "OVERLAY", "RUN", "AGE", "AS OF", "WRONG")
    return table([header, *rows])


def problem_of(cluster: PartisanCluster, failures: Sequence[PodFailure]) -> Problem | None:
    """Return the problem: the operator's diagnosis, or else one of the pods' present state.

    While the cluster forms, pods pass through transient states, so they are diagnosed only once the
    operator reports that the cluster is settled.
    """
    degraded = cluster.status.condition(ConditionType.DEGRADED)
    if degraded and degraded.status == "True":
        return Problem(degraded.reason, degraded.message)
    progressing = cluster.status.condition(ConditionType.PROGRESSING)
    if progressing is not None and progressing.status == "True":
        return None
    ordinals = naming.seed_ordinals(cluster.spec.replicas, cluster.spec.discovery.seeds)
    seeds = [naming.pod_name(cluster.name, ordinal) for ordinal in ordinals]
    return explain(failures, unready_pods=len(failures), seeds=seeds, lasted=lambda _: math.inf)


def screen(context: Context, cluster: PartisanCluster, pods: Sequence[Json]) -> str:
    """Return the state of the cluster as tables."""
    status, now = cluster.status, context.now()
    restarts = sum(
        entry.get("restartCount", 0)
        for pod in pods
        for entry in pod.get("status", {}).get("containerStatuses") or ()
    )
    rows = [
        ("Cluster", f"{cluster.name} in {cluster.namespace}, {since(cluster.created_at, now)} old"),
        ("Phase", status.phase.value),
        ("As of", _as_of(cluster, now)),
        (
            "Nodes",
            f"{cluster.spec.replicas} wanted, {status.replicas} exist, {status.ready} ready,"
            f" {status.joined} joined, {status.updated} up to date; {plural(restarts, 'restart')}",
        ),
        ("Overlay", _overlay(cluster)),
        *(("Channel" if not index else "", line) for index, line in enumerate(_channels(cluster))),
        ("Run", _run(cluster)),
    ]
    order = {kind: rank for rank, kind in enumerate(_CONDITION_ORDER)}
    conditions = [
        (entry.type.value, entry.status, since(entry.last_transition_time, now), entry.reason)
        for entry in sorted(status.conditions, key=lambda entry: order[entry.type])
    ]
    header = ("CONDITION", "STATUS", "SINCE", "REASON")
    return table(rows) + "\n\n" + table([header, *conditions])


def verdict(
    cluster: PartisanCluster, problem: Problem | None, failures: Sequence[PodFailure] = ()
) -> str:
    """Return the problem and the next command."""
    name, namespace = cluster.name, cluster.namespace
    own = f"kubectl partisan -n {namespace}"
    wrong, following = "Nothing is wrong.", f"{own} top {name}"
    conditions = {entry.type: entry for entry in cluster.status.conditions}
    progressing = conditions.get(ConditionType.PROGRESSING)
    workload = cluster.status.workload
    if problem is not None:
        wrong = f"{problem.reason}: {problem.message}"
        following = _remedy(problem, failures, cluster)
    elif (cluster.status.observed_generation or 0) < cluster.generation:
        wrong = (
            "The operator has not observed the newest spec yet. The Events may say why: kubectl -n"
            f" {namespace} describe pcl {name}; else check that it runs:"
        )
        following = f"kubectl get pods --all-namespaces -l {OPERATOR_LABELS}"
    elif cluster.spec.paused:
        wrong = "Paused: the operator observes and changes nothing."
        following = f"{own} resume {name}"
    elif progressing is not None and progressing.status == "True":
        wrong = f"Nothing is wrong so far: {progressing.message}."
        following = f"{own} rollout status {name}"
    elif workload is not None and workload.phase == "Finished":
        following = f"{own} report {name}"
    first, *more = wrap(wrong, WIDTH)
    lines = [("Verdict", first), *(("", line) for line in more), ("Next", following)]
    return table(lines)


def _remedy(problem: Problem, failures: Sequence[PodFailure], cluster: PartisanCluster) -> str:
    """Return the command that fixes a problem, or shows more of it."""
    name, namespace = cluster.name, cluster.namespace
    # Nodes with different tokens do not connect to one another.
    replace_pods = f"kubectl -n {namespace} delete pods -l {naming.selector(name)}"
    delete_secret = f"kubectl -n {namespace} delete secret"
    if problem.reason in (Reason.TOKEN_LOST, Reason.TOKEN_MISMATCH):
        return replace_pods
    if problem.reason == Reason.TOKEN_INVALID:
        return f"{delete_secret} {TOKEN.name_of(name)} && {replace_pods}"
    if problem.reason == Reason.BEARER_INVALID:
        return f"{delete_secret} {BEARER.name_of(name)}"
    if problem.reason in (Reason.APPLY_FAILED, Reason.BEARER_REFUSED):
        return f"kubectl -n {namespace} edit pcl {name}"
    return f"kubectl partisan -n {namespace} {_inspection(problem, failures, name)}"


def _inspection(problem: Problem, failures: Sequence[PodFailure], name: str) -> str:
    alike = [failure.pod for failure in failures if failure.reason == problem.reason]
    pod = next(iter(alike or [failure.pod for failure in failures]), "")
    match problem.reason:
        case Reason.CRASH_LOOPING | Reason.NODE_NOT_JOINING:
            return f"logs {name} --node {pod}" if pod else f"logs {name}"
        case Reason.CONFIGURATION_REFUSED:
            return f"logs {name}"
        case Reason.NODES_SILENT | Reason.OVERLAY_PARTITIONED:
            return f"graph {name}"
        case _:
            return f"describe node {pod}" if pod else f"must-gather {name}"


def _as_of(cluster: PartisanCluster, now: datetime) -> str:
    """Return the time of the figures: those of a settled cluster are rarely updated."""
    observed = cluster.status.observed_at
    return "-" if observed is None else f"{observed[:19]}Z, {since(observed, now)} ago"


def _overlay(cluster: PartisanCluster) -> str:
    overlay = cluster.status.overlay
    if overlay is None:
        return f"{cluster.spec.overlay.kind} is wanted; no node has answered yet"
    previous = f" next to {overlay.previous_kind}" if overlay.previous_kind else ""
    wanted = cluster.spec.overlay.kind
    note = f" ({wanted} is wanted)" if overlay.kind != wanted else ""
    return (
        f"{overlay.kind}{previous}{note}: {plural(overlay.components, 'component')},"
        f" {overlay.isolated} isolated, {plural(overlay.links, 'link')},"
        f" mean degree {overlay.mean_degree:.1f}"
    )


def _channels(cluster: PartisanCluster) -> list[str]:
    rows = [
        (
            channel.name,
            f"{channel.messages:,} messages",
            size(channel.bytes),
            f"{channel.dropped:,} dropped",
            f"{size(channel.queue_bytes)} queued",
        )
        for channel in cluster.status.channels
    ]
    return table(rows).splitlines()


def _run(cluster: PartisanCluster) -> str:
    run = cluster.status.workload
    if run is None:
        return "none: spec.workload is not set" if cluster.spec.workload is None else "not yet"
    if run.module != AD_COUNTER:
        return f"{run.run} of {run.module} {run.phase}: {run.value:,} of {run.threshold:,}"
    over = "" if run.overcounting_percent is None else f", {run.overcounting_percent:.2f} % over"
    return (
        f"{run.run} {run.phase}: {run.value:,} of {run.threshold:,} impressions{over},"
        f" {run.lost_increments:,} lost"
    )
