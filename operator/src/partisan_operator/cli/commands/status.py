"""`status NAME`: what is wrong and what to do next, on one screen."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Sequence
from textwrap import wrap

from partisan_operator.children import naming
from partisan_operator.cli import access
from partisan_operator.cli.access import OPERATOR_LABELS, Context
from partisan_operator.cli.kubectl import Json
from partisan_operator.cli.text import plural, since, size, table
from partisan_operator.diagnosis import Problem, Reason, Trouble, explain, trouble_of
from partisan_operator.models import PartisanCluster
from partisan_operator.models.status import ConditionType
from partisan_operator.models.workload import AD_COUNTER

TROUBLE = 3
"""Exit status when something is wrong with the cluster, for scripts."""

WIDTH = 90
"""Where the lines of the verdict end."""

_CONDITION_ORDER = tuple(ConditionType)


def run(context: Context, arguments: Namespace) -> int:
    """Write the screen; return `TROUBLE` when something is wrong."""
    cluster = access.cluster_of(context, arguments.name)
    pods = access.pods_of(context, cluster.name)
    troubles = [trouble for pod in pods if (trouble := trouble_of(pod))]
    problem = problem_of(cluster, troubles)
    context.write(screen(context, cluster, pods))
    context.write("")
    context.write(verdict(cluster, problem, troubles))
    return TROUBLE if problem else 0


def problem_of(cluster: PartisanCluster, troubles: Sequence[Trouble]) -> Problem | None:
    """Return what is wrong: the operator's word, else what the pods' own state says now.

    The operator waits with its word for what may pass by itself. That is what the pods say while
    the cluster forms, and so no trouble yet; it is one when the operator says that all is settled.
    """
    degraded = cluster.status.condition(ConditionType.DEGRADED)
    if degraded and degraded.status == "True" and degraded.reason in set(Reason):
        return Problem(Reason(degraded.reason), degraded.message)
    progressing = cluster.status.condition(ConditionType.PROGRESSING)
    if progressing is not None and progressing.status == "True":
        return None
    ordinals = naming.seed_ordinals(cluster.spec.replicas, cluster.spec.discovery.seeds)
    seeds = [naming.pod_name(cluster.name, ordinal) for ordinal in ordinals]
    return explain(troubles, unready_pods=len(troubles), seeds=seeds, lasted=lambda _: math.inf)


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
    cluster: PartisanCluster, problem: Problem | None, troubles: Sequence[Trouble] = ()
) -> str:
    """Return what is wrong, and the command that goes on from here."""
    name, namespace = cluster.name, cluster.namespace
    own = f"kubectl partisan -n {namespace}"
    wrong, following = "Nothing is wrong.", f"{own} top {name}"
    conditions = {entry.type: entry for entry in cluster.status.conditions}
    progressing = conditions.get(ConditionType.PROGRESSING)
    workload = cluster.status.workload
    if problem is not None:
        wrong = f"{problem.reason}: {problem.message}"
        following = f"{own} {_remedy(problem, troubles, name)}"
    elif (cluster.status.observed_generation or 0) < cluster.generation:
        wrong = "The operator has not looked at the newest spec yet. See whether it runs:"
        following = f"kubectl get pods --all-namespaces -l {OPERATOR_LABELS}"
    elif cluster.spec.paused:
        wrong = "Paused: the operator watches and changes nothing."
        following = f"{own} resume {name}"
    elif progressing is not None and progressing.status == "True":
        wrong = f"Nothing is wrong so far: {progressing.message}."
        following = f"{own} rollout status {name}"
    elif workload is not None and workload.phase == "Finished":
        following = f"{own} report {name}"
    first, *more = wrap(wrong, WIDTH)
    lines = [("Verdict", first), *(("", line) for line in more), ("Next", following)]
    return table(lines)


def _remedy(problem: Problem, troubles: Sequence[Trouble], name: str) -> str:
    """Return the command that shows more of a problem."""
    alike = [trouble.pod for trouble in troubles if trouble.reason == problem.reason]
    pod = next(iter(alike or [trouble.pod for trouble in troubles]), "")
    match problem.reason:
        case Reason.CRASH_LOOPING | Reason.NODE_NOT_JOINING:
            return f"logs {name} --node {pod}" if pod else f"logs {name}"
        case Reason.CONFIGURATION_REFUSED:
            return f"logs {name}"
        case Reason.NODES_SILENT | Reason.OVERLAY_PARTITIONED:
            return f"graph {name}"
        case _:
            return f"describe node {pod}" if pod else f"must-gather {name}"


def _overlay(cluster: PartisanCluster) -> str:
    overlay = cluster.status.overlay
    if overlay is None:
        return f"{cluster.spec.overlay.kind} is wanted; no node has answered yet"
    beside = f" beside {overlay.also_running}" if overlay.also_running else ""
    wanted = cluster.spec.overlay.kind
    asked = f" ({wanted} is wanted)" if overlay.kind != wanted else ""
    return (
        f"{overlay.kind}{beside}{asked}: {plural(overlay.components, 'component')},"
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
