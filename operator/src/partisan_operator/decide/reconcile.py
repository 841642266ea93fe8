"""From a cluster and an observation to a plan.

`plan` is a pure function: the same observation yields the same actions, and a cluster that matches
its spec yields none. No decision depends on the event that woke the loop, so a lost event costs one
resync.

Objects are changed or deleted only when the cluster is their controller.

While a scale-down is rejected, the cluster is maintained at its present size: drift is repaired and
pods are rolled; only the removal of nodes waits.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from partisan_operator.children import (
    Child,
    DesiredChildren,
    claims,
    desired_children,
    naming,
    override_check,
    restricted,
)
from partisan_operator.children.child import last_applied, owned_by, up_to_date
from partisan_operator.children.desired import emptied_shard
from partisan_operator.children.node_config import render_config, revision
from partisan_operator.children.pod import own_spec
from partisan_operator.decide import adoption, rollout, scale_down, secrets, workload
from partisan_operator.decide.actions import (
    Action,
    Adopt,
    Apply,
    Configure,
    Delete,
    DeletePod,
    Plan,
)
from partisan_operator.decide.certificates import CertificatePlan, certificate_plan
from partisan_operator.decide.installation import Installation
from partisan_operator.decide.monitoring import wants_monitor
from partisan_operator.models import PartisanCluster
from partisan_operator.models.pods import refused_annotations
from partisan_operator.models.problem import Problem, Reason
from partisan_operator.observe.observation import Observation, PodMonitors


def desired(
    cluster: PartisanCluster, installation: Installation, *, bearer: bool = True
) -> DesiredChildren:
    """Return the children of a cluster; `bearer` is whether its image supports the bearer."""
    children = desired_children(cluster, installation.node_image, bearer=bearer)
    if wants_monitor(cluster.spec.metrics.pod_monitor, installation):
        return children
    return replace(children, monitors=())


def plan(
    cluster: PartisanCluster,
    children: DesiredChildren,
    observation: Observation,
    installation: Installation,
) -> Plan:
    """Return the actions that bring a cluster, with its `desired` children, to its spec."""
    problem = scale_down.refusal(cluster, observation)
    refused = _refused(
        cluster, children, installation.allowed_annotations, shrinks=problem is not None
    )
    if problem is not None or cluster.spec.paused:
        cluster = scale_down.kept(cluster, observation)
        children = desired(cluster, installation)
    bearer = secrets.pods_mount_bearer(cluster, children, observation)
    if not bearer:
        children = desired(cluster, installation, bearer=False)
    if observation.monitors is not PodMonitors.AVAILABLE:
        children = replace(children, monitors=())
    tls = certificate_plan(cluster, observation)
    conflict = (
        refused
        or adoption.conflict(cluster, children, observation)
        or secrets.conflict(cluster, observation)
        or tls.conflict
    )
    batch = rollout.batch_of(cluster, observation)
    kept = cluster.spec.replicas
    if cluster.spec.paused or cluster.deleting or conflict is not None:
        return Plan((), batch.outdated, conflict or problem, kept, None, tls)
    orphans = (*adoption.orphans(cluster, children, observation), *tls.orphans)
    if orphans:
        adopted = tuple(map(Adopt, orphans))
        return Plan((adopted,), batch.outdated, problem, kept, None, tls)
    scaling = _scaling(cluster, observation)
    credentials = (*([] if tls.step is None else [tls.step]), *map(Apply, tls.children))
    foundations = children.foundations if observation.complete else ()
    stateful_sets = children.stateful_sets
    if problem is None or scale_down.bearable(cluster, observation):
        configured = tuple(_configured(cluster, observation))
    else:
        # A configuration for fewer nodes would isolate these, so they keep their last one.
        foundations = tuple(_as_given(foundations, observation))
        stateful_sets = tuple(_as_given(stateful_sets, observation))
        configured = ()
    waves: tuple[tuple[Action, ...], ...] = (
        (
            *secrets.actions(cluster, observation),
            *credentials,
            *_applied(foundations, observation),
        ),
        (
            *_applied(_startable(stateful_sets, observation, tls), observation),
            *_surplus_shards(cluster, children, observation, installation, bearer=bearer),
        ),
        tuple(_applied(_guards(cluster, children, observation), observation)),
        tuple(_unwanted(cluster, children, observation)),
        tuple(DeletePod(pod) for pod in batch.pods),
        tuple(workload.start(cluster, observation)),
        # Last, because a failed wave stops those after it: nodes whose image refuses the
        # configuration must not prevent the replacement of their pods.
        configured,
        tuple(_applied(children.monitors if observation.complete else (), observation)),
    )
    problem = problem or secrets.lost(cluster, observation) or tls.problem
    applied = tuple(wave for wave in waves if wave)
    made = Plan(applied, batch.outdated, problem, kept, scaling, tls)
    # A StatefulSet may have to wait, as for the Secret that its pods mount.
    return made if made.changes_pods else replace(made, scaling=None)


def _applied(wanted: Iterable[Child], observation: Observation) -> Iterator[Apply]:
    for child in wanted:
        live = observation.live.get(child.key)
        if live is None or not up_to_date(child, live):
            yield Apply(child)


def _as_given(children: Iterable[Child], observation: Observation) -> Iterator[Child]:
    """Leave out children that would give nodes another configuration; repair the others.

    Missing ones are created as in the spec, since nodes need them.
    """
    for child in children:
        live = observation.live.get(child.key)
        configures_nodes = child.kind in ("ConfigMap", "StatefulSet")
        if not configures_nodes or live is None or last_applied(live) == child.hash:
            yield child


def _startable(
    stateful_sets: Iterable[Child], observation: Observation, tls: CertificatePlan
) -> Iterator[Child]:
    """Return the StatefulSets; new ones once the Secret exists that their pods mount.

    A pod that waits for a Secret starts minutes after it appears: kubelets back off.
    """
    for child in stateful_sets:
        if tls.startable or child.key in observation.live:
            yield child


def _guards(
    cluster: PartisanCluster, desired: DesiredChildren, observation: Observation
) -> Iterator[Child]:
    """Return the guards. They are created while all pods are ready, and are kept from then on."""
    if observation.complete:
        stands = not observation.unready(cluster)
        yield from (child for child in desired.guards if stands or child.key in observation.live)


def _refused(
    cluster: PartisanCluster,
    children: DesiredChildren,
    allowed_annotations: Iterable[str],
    *,
    shrinks: bool,
) -> Problem | None:
    """Return why a spec that the API server accepted is not followed.

    The CRD has all rules except those of `override`: the first and `restricted` unless it is older
    or of another release of the chart, the last up to 64 replicas. `shrinks` is whether a
    scale-down is rejected already.
    """
    keys = refused_annotations(cluster.spec.pods.annotations, allowed_annotations)
    if keys:
        return Problem(
            Reason.INVALID_SPEC,
            f"spec.pods.annotations holds {', '.join(sorted(keys)[:5])}, which is not allowed,"
            " because annotations can take a pod out of its security profile. Nothing is changed"
            " until it is removed, or is added to the chart's value allowedPodAnnotations.",
        )
    if cluster.spec.pods.override is not None:
        own = own_spec(cluster, "", bearer=True)
        if refused := override_check.refusals(cluster.spec.pods, own):
            return Problem(
                Reason.OVERRIDE_REFUSED,
                f"spec.pods.override: {'; '.join(refused[:5])}. Nothing is changed until it is"
                " corrected.",
            )
    forbidden = _forbidden(children)
    if forbidden:
        return Problem(
            Reason.INVALID_SPEC,
            f"spec.pods leads to pods with {', '.join(forbidden[:5])}, which the Pod Security"
            " Standard restricted forbids. Nothing is changed until it is removed.",
        )
    unconnected = "" if shrinks else scale_down.unconnected_ordinals(cluster)
    return Problem(Reason.INVALID_SPEC, f"{unconnected}.") if unconnected else None


def _forbidden(children: DesiredChildren) -> tuple[str, ...]:
    """Return the fields of the pods that `restricted` forbids; all shards have the same pods."""
    template = children.stateful_sets[0].manifest["spec"]["template"]
    return restricted.violations(template["spec"])


def _surplus_shards(
    cluster: PartisanCluster,
    desired: DesiredChildren,
    observation: Observation,
    installation: Installation,
    *,
    bearer: bool,
) -> Iterator[Apply]:
    """Empty the shards beyond the wanted ones, as in any scale-down: their nodes leave first."""
    image = installation.node_image
    for shard in observation.shards(cluster):
        if desired.find("StatefulSet", shard.name) is None and shard.wanted > 0:
            yield Apply(emptied_shard(cluster, shard.index, image, bearer=bearer))


def _unwanted(
    cluster: PartisanCluster, desired: DesiredChildren, observation: Observation
) -> Iterator[Delete]:
    """Delete children that are no longer wanted; shards and their Services once they are empty.

    An empty shard stays if its deletion would take claims with it that are to be kept.
    """
    keeping = claims.outlive_shard(cluster.spec.pods)
    shards = observation.shards(cluster)
    occupied = {shard.name for shard in shards if shard.exists or shard.wanted or not shard.settled}
    for (kind, name), live in observation.live.items():
        wanted = desired.find(kind, name) is not None
        in_use = kind in ("StatefulSet", "Service") and name in occupied
        kept = keeping and kind == "StatefulSet"
        going = "deletionTimestamp" in live["metadata"]  # a finalizer holds it up
        if not (wanted or in_use or kept or going) and owned_by(live, cluster.uid):
            yield Delete(kind, name, live["metadata"]["uid"])


def _scaling(cluster: PartisanCluster, observation: Observation) -> tuple[int, int] | None:
    before, after = observation.wanted_pods(cluster), cluster.spec.replicas
    return (before, after) if observation.shards(cluster) and before != after else None


def _configured(cluster: PartisanCluster, observation: Observation) -> Iterator[Configure]:
    """Send the configuration to nodes that follow another one.

    Nodes do not compare: the last configuration is in force, so a later one undoes an earlier one.
    """
    wanted = revision(cluster)
    expected = naming.pod_names(cluster.name, cluster.spec.replicas)
    behind = tuple(
        observation.endpoints[name]
        for name, report in observation.reports(expected).items()
        if report.revision != wanted and name in observation.endpoints
    )
    if behind:
        yield Configure(render_config(cluster), behind)
