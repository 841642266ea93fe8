"""The core: from what is wanted and what was seen to what is to be done.

`plan` is a function without memory: the same look at a cluster gives the same actions, and a
cluster that is as it should be gives none. Whatever woke the loop, nothing is decided from the
event; a lost event costs one resync.

An object is only ever changed or deleted when its controller is the cluster itself.

While a scale-down is refused the cluster is looked after at the size that it has: what somebody
changed is repaired, pods are rolled, and only what would take nodes away waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from partisan_operator import rollout, scale_down, workload
from partisan_operator.children import Child, Family, naming, node_http
from partisan_operator.children.child import last_applied, owned_by, up_to_date
from partisan_operator.children.family import emptied_shard, family_of
from partisan_operator.children.node_config import render_config, revision, run_id
from partisan_operator.children.shared_secrets import BEARER, TOKEN, SharedSecret
from partisan_operator.diagnosis import (
    Problem,
    Reason,
    invalid_bearer,
    invalid_token,
    name_conflict,
    token_lost,
)
from partisan_operator.models import PartisanCluster
from partisan_operator.models.pods import ALLOWED_ANNOTATIONS, refused_annotations
from partisan_operator.models.quantities import share
from partisan_operator.models.status import ConditionType
from partisan_operator.monitoring import wants_monitor
from partisan_operator.observe.graph import analyse
from partisan_operator.observe.observation import (
    Endpoint,
    Observation,
    PodRevision,
    SecretSeen,
    SecretState,
)
from partisan_operator.tls.prospect import Prospect, prospect_of
from partisan_operator.tls.rotation import MakeAuthority, Publish


@dataclass(frozen=True)
class Apply:
    """Apply a child."""

    child: Child


@dataclass(frozen=True)
class MakeSecret:
    """Make the token or the bearer, with its Secret. Nothing ever changes them."""

    secret: SharedSecret


@dataclass(frozen=True)
class Delete:
    """Delete a child that is no longer wanted, if it is still the one that was seen."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True)
class DeletePod:
    """Delete a pod for its StatefulSet to make it anew."""

    pod: PodRevision


@dataclass(frozen=True)
class StartRun:
    """Start the run on one of these nodes: the first that accepts."""

    run: str
    candidates: tuple[Endpoint, ...]


@dataclass(frozen=True)
class Configure:
    """Have running nodes follow a configuration."""

    text: str
    """As in the ConfigMap, which is applied first: a node that restarts reads it there."""

    nodes: tuple[Endpoint, ...]


Action = Apply | MakeSecret | MakeAuthority | Publish | Delete | DeletePod | Configure | StartRun


@dataclass(frozen=True)
class Plan:
    """What is to be done, in waves: the actions of one are independent of one another."""

    waves: tuple[tuple[Action, ...], ...]
    outdated: int
    """Pods that a rollout has yet to replace."""

    problem: Problem | None
    """What keeps the operator from doing all that the spec asks for."""

    kept: int
    """Nodes that are there to stay for now: more than the spec asks for while a scale-down is
    refused, or the cluster paused."""

    scaling: tuple[int, int] | None
    """Pods asked for before and after, when their number changes."""

    tls: Prospect = field(default_factory=Prospect)
    """What TLS asks for; what of it is to be done is in the waves."""

    @property
    def actions(self) -> tuple[Action, ...]:
        """All actions, in order."""
        return tuple(action for wave in self.waves for action in wave)

    @property
    def changes(self) -> tuple[str, ...]:
        """Names of the objects that the plan changes."""
        return tuple(name for action in self.actions if (name := _changed(action)))


def plan(
    cluster: PartisanCluster,
    family: Family,
    observation: Observation,
    default_image: str,
    allowed_annotations: Iterable[str] = ALLOWED_ANNOTATIONS,
) -> Plan:
    """Return what is to be done about a cluster."""
    problem = scale_down.refusal(cluster, observation)
    refused = _refused(cluster, allowed_annotations, shrinks=problem is not None)
    if problem is not None or cluster.spec.paused:
        cluster = scale_down.kept(cluster, observation)
        family = family_of(cluster, default_image)
    bearer = _mounts_bearer(cluster, family, observation)
    if not bearer:
        family = family_of(cluster, default_image, bearer=False)
    if not wants_monitor(cluster.spec.metrics.pod_monitor, observation.monitoring):
        family = replace(family, monitors=())
    tls = prospect_of(cluster, observation)
    conflict = refused or _conflict(cluster, family, observation) or tls.conflict
    batch = _rollout(cluster, observation)
    if observation.token.state is SecretState.LOST:
        # Pods that are replaced now would not start.
        batch = replace(batch, pods=())
    kept = cluster.spec.replicas
    if cluster.spec.paused or cluster.deleting or conflict is not None:
        return Plan((), batch.outdated, conflict or problem, kept, None, tls)
    scaling = _scaling(cluster, observation)
    credentials = (*([] if tls.step is None else [tls.step]), *map(Apply, tls.children))
    foundations = family.foundations if observation.complete else ()
    stateful_sets = family.stateful_sets
    if problem is None or scale_down.bearable(cluster, observation):
        configured = tuple(_configured(cluster, observation))
    else:
        # What is asked of fewer nodes would cut these off: what they were told last stays.
        foundations = tuple(_as_given(foundations, observation))
        stateful_sets = tuple(_as_given(stateful_sets, observation))
        configured = ()
    waves: tuple[tuple[Action, ...], ...] = (
        (
            *_shared_secrets(cluster, observation),
            *credentials,
            *_applied(foundations, observation),
        ),
        (
            *_applied(_startable(stateful_sets, observation, tls), observation),
            *_surplus_shards(cluster, family, observation, default_image, bearer=bearer),
        ),
        tuple(_applied(_guards(cluster, family, observation), observation)),
        tuple(_unwanted(cluster, family, observation)),
        tuple(DeletePod(pod) for pod in batch.pods),
        tuple(_start(cluster, observation)),
        # These last, for a wave that fails holds up those behind it: nodes of an image that knows
        # too little must not keep their pods from being replaced.
        configured,
        tuple(_applied(family.monitors if observation.complete else (), observation)),
    )
    problem = problem or _lost(cluster, observation) or tls.problem
    return Plan(tuple(wave for wave in waves if wave), batch.outdated, problem, kept, scaling, tls)


def _changed(action: Action) -> str:
    """Return the name of the object that an action changes; empty if it changes none."""
    match action:
        case Apply(child):
            return f"{child.kind} {child.name}"
        case Delete(kind, name):
            return f"{kind} {name}"
        case DeletePod(pod):
            return f"Pod {pod.name}"
        case MakeSecret(secret):
            return f"the {secret.key}'s Secret"
        case MakeAuthority() | Publish():
            return "the certificate's Secret"
    return ""


def _applied(wanted: Iterable[Child], observation: Observation) -> Iterator[Apply]:
    for child in wanted:
        live = observation.live.get(child.key)
        if live is None or not up_to_date(child, live):
            yield Apply(child)


def _as_given(children: Iterable[Child], observation: Observation) -> Iterator[Child]:
    """Leave out what is to tell nodes something else than it last did; the others are repaired.

    What is not there is made as the spec has it, since nodes cannot do without.
    """
    for child in children:
        live = observation.live.get(child.key)
        tells_nodes = child.kind in ("ConfigMap", "StatefulSet")
        if not tells_nodes or live is None or last_applied(live) == child.hash:
            yield child


def _startable(
    stateful_sets: Iterable[Child], observation: Observation, tls: Prospect
) -> Iterator[Child]:
    """Return the StatefulSets; new ones when there is the Secret that their pods mount.

    A pod that waits for it is started minutes after it comes: Kubernetes tries ever more rarely.
    """
    for child in stateful_sets:
        if tls.startable or child.key in observation.live:
            yield child


def _guards(cluster: PartisanCluster, family: Family, observation: Observation) -> Iterator[Child]:
    """Return the guards that are wanted: from when the cluster first stands, and for good."""
    if observation.complete:
        stands = not observation.unready(cluster)
        yield from (child for child in family.guards if stands or child.key in observation.live)


def _refused(
    cluster: PartisanCluster, allowed_annotations: Iterable[str], *, shrinks: bool
) -> Problem | None:
    """Return what in the spec is not to be followed, though the API server took it.

    The definition has both rules: for the first, unless it is of an older version or of another
    release of the chart; for the second, up to 64 replicas. `shrinks` says that a scale-down is
    refused already.
    """
    keys = refused_annotations(cluster.spec.pods.annotations, allowed_annotations)
    if keys:
        return Problem(
            Reason.INVALID_SPEC,
            f"spec.pods.annotations holds {', '.join(sorted(keys)[:5])}, which is not allowed, for"
            " annotations can take a pod out of its security profile. Nothing is changed until it"
            " is removed, or is added to the chart's value allowedPodAnnotations.",
        )
    unconnected = "" if shrinks else scale_down.unconnected_ordinals(cluster)
    return Problem(Reason.INVALID_SPEC, f"{unconnected}.") if unconnected else None


def _conflict(cluster: PartisanCluster, family: Family, observation: Observation) -> Problem | None:
    """Return what forbids to act: a name that another owner took, or a token that is none."""
    for child in family.everyone:
        live = observation.live.get(child.key)
        if live is not None and not owned_by(live, cluster.uid):
            return name_conflict(child.kind, child.name)
    for secret, seen in _seen_secrets(observation):
        if seen.state is SecretState.FOREIGN:
            return name_conflict("Secret", secret.name_of(cluster.name))
        if seen.state is SecretState.INVALID:
            name = secret.name_of(cluster.name)
            return invalid_token(name) if secret is TOKEN else invalid_bearer(name)
    return None


def _lost(cluster: PartisanCluster, observation: Observation) -> Problem | None:
    if observation.token.state is SecretState.LOST:
        return token_lost(TOKEN.name_of(cluster.name), cluster.name)
    return None


def _seen_secrets(observation: Observation) -> tuple[tuple[SharedSecret, SecretSeen], ...]:
    return (TOKEN, observation.token), (BEARER, observation.bearer)


def _shared_secrets(
    cluster: PartisanCluster, observation: Observation
) -> Iterator[MakeSecret | Apply]:
    """Make the token and the bearer where they are absent, own them where nothing does.

    What the cluster owns goes with it, so that no cluster of its name finds the token of another.
    """
    for secret, seen in _seen_secrets(observation):
        if seen.state is SecretState.ABSENT:
            yield MakeSecret(secret)
        elif seen.state is SecretState.UNOWNED:
            yield Apply(secret.adopted(cluster, seen.uid))


def _mounts_bearer(cluster: PartisanCluster, family: Family, observation: Observation) -> bool:
    """Whether pods are to mount the bearer: see `node_http`.

    Pods of an earlier operator stay as they are until their image is replaced or reports that it
    knows the bearer.
    """
    before = {
        shard.name: observation.live["StatefulSet", shard.name]["spec"]["template"]
        for shard in observation.shards(cluster)
    }
    if any(node_http.has_bearer(template["metadata"]) for template in before.values()):
        return True
    wanted = {_image(child.manifest["spec"]["template"]) for child in family.stateful_sets}
    if not {_image(template) for template in before.values()} & wanted:
        return True
    reports = (seen.report for seen in observation.seen.values())
    return any(report.interface >= node_http.INTERFACE for report in reports)


def _image(template: Mapping[str, Any]) -> str:
    return str(template["spec"]["containers"][0]["image"])


def _surplus_shards(
    cluster: PartisanCluster,
    family: Family,
    observation: Observation,
    default_image: str,
    *,
    bearer: bool,
) -> Iterator[Apply]:
    """Empty the shards beyond the wanted ones, as on any scale-down: their nodes leave first."""
    for shard in observation.shards(cluster):
        if family.find("StatefulSet", shard.name) is None and shard.wanted > 0:
            yield Apply(emptied_shard(cluster, shard.index, default_image, bearer=bearer))


def _unwanted(
    cluster: PartisanCluster, family: Family, observation: Observation
) -> Iterator[Delete]:
    """Delete children that are no longer wanted; shards and their Services once they are empty."""
    shards = observation.shards(cluster)
    occupied = {shard.name for shard in shards if shard.exists or shard.wanted or not shard.settled}
    for (kind, name), live in observation.live.items():
        wanted = family.find(kind, name) is not None
        in_use = kind in ("StatefulSet", "Service") and name in occupied
        if not wanted and not in_use and owned_by(live, cluster.uid):
            yield Delete(kind, name, live["metadata"]["uid"])


def _scaling(cluster: PartisanCluster, observation: Observation) -> tuple[int, int] | None:
    before, after = observation.wanted_pods(cluster), cluster.spec.replicas
    return (before, after) if observation.shards(cluster) and before != after else None


def _rollout(cluster: PartisanCluster, observation: Observation) -> rollout.Batch:
    if observation.pods is None:
        return rollout.Batch((), 0)
    expected = naming.pod_names(cluster.name, cluster.spec.replicas)
    reports = observation.reports(expected)
    graph = analyse({name: report.overlay.active for name, report in reports.items()})
    return rollout.next_batch(
        shards=observation.shards(cluster),
        pods=observation.pods,
        expected=expected,
        available=frozenset(
            endpoint.uid
            for name, endpoint in observation.endpoints.items()
            if endpoint.ready
            and name in observation.seen
            and observation.seen[name].uid == endpoint.uid
            and observation.seen[name].report.overlay.joined
        ),
        connected=graph.components == 1,
        max_unavailable=share(cluster.spec.rollout.max_unavailable, cluster.spec.replicas),
        all_crash=_all_crash(cluster, observation),
    )


def _all_crash(cluster: PartisanCluster, observation: Observation) -> bool:
    """Say whether pods are known to crash again and again, and none is ready.

    That none is ready is not enough: after a failure of the machine all start again, with what
    they keep in their pods.
    """
    degraded = cluster.status.condition(ConditionType.DEGRADED)
    crashing = degraded is not None and degraded.reason == Reason.CRASH_LOOPING
    return crashing and not any(entry.ready for entry in observation.endpoints.values())


def _configured(cluster: PartisanCluster, observation: Observation) -> Iterator[Configure]:
    """Tell the nodes that follow another configuration.

    Nodes compare nothing: the last one told is the one in force, so that what is asked for now
    also undoes what was asked for before.
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


def _start(cluster: PartisanCluster, observation: Observation) -> Iterator[StartRun]:
    """Start the run once the overlay is complete and one component."""
    run = run_id(cluster.spec.workload)
    expected = naming.pod_names(cluster.name, cluster.spec.replicas)
    reports = observation.reports(expected)
    if not run or not workload.should_start(run, expected, reports):
        return
    graph = analyse({name: report.overlay.active for name, report in reports.items()})
    if graph.components == 1:
        candidates = tuple(
            observation.endpoints[name] for name in expected if name in observation.endpoints
        )
        yield StartRun(run, candidates)
