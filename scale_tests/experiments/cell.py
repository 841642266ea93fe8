"""One cell: a cluster from its apply until nothing of it is left."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from scale_tests import procfs
from scale_tests.demo.result import seconds as milestones
from scale_tests.experiments import collect, faults
from scale_tests.experiments.collect import Usage
from scale_tests.experiments.experiment import CLUSTER, Point
from scale_tests.experiments.result import Result, mean
from scale_tests.harness.environment import Environment
from scale_tests.harness.kube import ApiError, Cluster, Json, core, partisan_cluster
from scale_tests.harness.must_gather import must_gather
from scale_tests.harness.nodes import NodeStatus, read_metrics, read_node
from scale_tests.harness.partisan import (
    CLUSTER_LABEL,
    ClusterStatus,
    children,
    read_cluster,
    read_pods,
)
from scale_tests.harness.progress import StallClock, StalledError, wait_for
from scale_tests.results import versions
from scale_tests.results.document import machine

AT_REST = 0.3
"""The share of busy processors below which a machine counts as at rest."""

FORMING_SECONDS, RUNNING_SECONDS = 0.5, 1.0
"""How often a cluster is looked at."""

Tell = Callable[[str], None]
"""Takes a line on how far a cell is."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where cells run."""

    environment: Environment
    cluster: Cluster
    namespace: str
    evidence: Path
    """Where the state of a cell that fails is saved."""


@dataclass(kw_only=True)
class Course:
    """What has become known of a cell while it ran."""

    applied: float
    """Seconds since 1970."""
    status: ClusterStatus | None = None
    ready: dict[str, float] = field(default_factory=dict)
    """When each node was first seen ready, in seconds since the apply."""
    trouble: str = ""
    """Why the API server did not answer the last time."""
    faults: Json | None = None


def run(place: Place, point: Point, tell: Tell) -> Result:
    """Runs a cell; one that does not come to its end is a result with an error.

    Raises:
        ApiError: the manifest is refused, or the cluster cannot be reached.
    """
    started = datetime.now(UTC)
    busy = _settle(place.environment, point.experiment.settle_seconds)
    before = collect.control_plane(place.environment, place.cluster)
    course = Course(applied=time.time())
    # What the API server refuses is no result: the experiment asks for what cannot be.
    place.cluster.create(partisan_cluster(place.namespace), point.manifest())
    error = None
    try:
        _follow(place, point, course, tell)
    except (StalledError, ApiError, FaultError) as failure:
        error = f"{type(failure).__name__}: {failure}"
        must_gather(place.cluster, place.namespace, place.evidence / point.slug)
    tell("collecting")
    cell = _collect(place, point, course, before)
    tell("deleting")
    deleting = time.monotonic()
    left = remove(place.cluster, place.namespace)
    return Result(
        **cell,
        seconds_to_delete=round(time.monotonic() - deleting, 2) if not left else None,
        seconds_in_all=round((datetime.now(UTC) - started).total_seconds(), 2),
        busy_before=busy,
        left=tuple(left),
        error=error,
        started=started.isoformat(timespec="seconds"),
    )


class FaultError(Exception):
    """The hook of a cell's faults raised something."""


def remove(cluster: Cluster, namespace: str) -> list[str]:
    """Deletes the cell's cluster; returns what has not gone. Raises ApiError.

    The nodes have nothing to hand over any more. They are told to hurry once nobody would make
    new ones.
    """
    cluster.delete(partisan_cluster(namespace, CLUSTER))
    label = f"{CLUSTER_LABEL}={CLUSTER}"
    stateful_sets = f"apis/apps/v1/namespaces/{namespace}/statefulsets"

    def left() -> list[str]:
        try:
            return children(cluster, namespace, CLUSTER)
        except ApiError as error:
            return [f"unknown: {error}"]

    try:
        wait_for("deletion", lambda: len(cluster.list(stateful_sets, label)), lambda n: n == 0)
        cluster.delete(core(namespace, "pods"), labelSelector=label, gracePeriodSeconds="1")
        wait_for("deletion", left, lambda objects: not objects)
    except StalledError:
        return left()
    return []


def _settle(environment: Environment, seconds: float) -> float | None:
    """Waits for the machine to be at rest, if it is this one; returns how busy it was last."""
    if not environment.local:
        return None
    until = time.monotonic() + seconds
    while True:
        busy = procfs.busy_share(1.0)
        if busy < AT_REST or time.monotonic() >= until:
            return round(busy, 3)


def _follow(place: Place, point: Point, course: Course, tell: Tell) -> None:
    """Looks at the cluster until its run has ended, and its faults with it.

    Raises:
        StalledError, ApiError, FaultError
    """
    clock = StallClock()
    suffering: Future[Json] | None = None
    with ThreadPoolExecutor(max_workers=1) as executor:
        while True:
            due = time.monotonic() + (RUNNING_SECONDS if _is_whole(course) else FORMING_SECONDS)
            status = _look(place, course)
            tell(course.trouble or _line(status))
            if suffering is None and status.workload.phase == "Running":
                suffering = _suffer(executor, place, point)
            if suffering is not None and suffering.done():
                course.faults = _suffered(suffering)
            if status.finished and (suffering is None or suffering.done()):
                return
            stalled = clock.observe(status.progress)
            faulty = suffering is not None and not suffering.done()
            if stalled > point.experiment.stall_seconds and not faulty:
                seen = course.trouble or _line(status)
                raise StalledError(f"nothing has moved for {stalled:.0f} s: {seen}")
            time.sleep(max(0.0, due - time.monotonic()))


def _look(place: Place, course: Course) -> ClusterStatus:
    """Reads the cluster's status and, until all are, which nodes are ready.

    An API server that is too busy to answer is asked again the next time, as by anybody else: until
    then the last status holds. Raises ApiError where there is none.
    """
    try:
        if not _is_whole(course):
            for name in _ready_names(place):
                course.ready.setdefault(name, round(time.time() - course.applied, 3))
        course.status = read_cluster(place.cluster, place.namespace, CLUSTER)
        course.trouble = ""
    except ApiError as error:
        if course.status is None:
            raise
        course.trouble = str(error)
    return course.status


def _is_whole(course: Course) -> bool:
    return course.status is not None and course.status.steady and _are_ready(course)


def _are_ready(course: Course) -> bool:
    return course.status is not None and len(course.ready) >= course.status.replicas_wanted


def _ready_names(place: Place) -> list[str]:
    """The ready pods, of the EndpointSlices: a few objects, however many pods there are.

    These Services publish pods that are not ready too: `serving` tells which are.
    """
    slices = place.cluster.list(
        f"apis/discovery.k8s.io/v1/namespaces/{place.namespace}/endpointslices"
    )
    return [
        endpoint["targetRef"]["name"]
        for item in slices
        for endpoint in item.get("endpoints") or ()
        if endpoint.get("conditions", {}).get("serving") and "targetRef" in endpoint
    ]


def _suffer(executor: ThreadPoolExecutor, place: Place, point: Point) -> Future[Json] | None:
    """Lets the experiment's faults happen."""
    wanted = point.experiment.faults
    if wanted is None:
        return None
    scene = faults.Scene(
        environment=place.environment,
        cluster=place.cluster,
        namespace=place.namespace,
        name=CLUSTER,
        nodes=point.nodes,
        speedup=point.speedup,
        seed=point.seed,
    )
    return executor.submit(faults.load(wanted.hook), scene, wanted.parameters)


def _suffered(future: Future[Json]) -> Json:
    failure = future.exception()
    if failure is not None:
        raise FaultError(f"the hook raised {type(failure).__name__}: {failure}") from failure
    return future.result()


def _collect(place: Place, point: Point, course: Course, before: dict[str, Usage]) -> Json:
    """All figures of a cell but those of its end, as `Result` has them. Raises ApiError."""
    pods = read_pods(place.cluster, place.namespace, CLUSTER)
    names, where = pods.names_running, (place.cluster, place.namespace)
    nodes = list(collect.ask(names, lambda name: read_node(*where, name)).values())
    measured = collect.ask(names, lambda name: read_metrics(*where, name))
    kind, usage = collect.usage_of_nodes(place.environment, place.namespace, nodes, measured)
    members = collect.members(nodes, measured, usage, applied=course.applied, ready=course.ready)
    status = course.status or read_cluster(place.cluster, place.namespace, CLUSTER)
    reached = milestones(dict(status.timings))
    running = _running_seconds(nodes) if status.finished else None
    counting = point.counting_seconds()
    equal = _are_equal(nodes, point.nodes)
    return {
        "nodes": point.nodes,
        "overlay": point.overlay.name,
        "synchronization": point.synchronization,
        "simulated": False,
        "speedup": point.speedup,
        "trial": point.trial,
        "seed": point.seed,
        "converged": status.finished and equal,
        "exact": _are_exact(nodes),
        "value": nodes[0].value if equal else status.workload.value,
        "increments_sum": status.workload.increments_sum,
        "lost": status.workload.lost_increments,
        "threshold": point.threshold,
        "overcounting_percent": status.workload.overcounting_percent,
        "bytes_payload": sum(member.bytes_payload for member in members),
        "bytes_frames": sum(member.bytes_frames for member in members),
        "bytes_tcp": _sum([member.bytes_tcp for member in members]),
        "bytes_frames_by_channel": _by_channel(nodes),
        "seconds_to_ready": max(course.ready.values()) if _are_ready(course) else None,
        "seconds_to_joined": reached.apply_to_joined,
        "seconds_running": running,
        "seconds_to_converge": None if running is None else round(running - counting, 3),
        "mean_degree": round(mean([len(node.active) for node in nodes]), 3),
        "restarts": pods.restarts,
        "memory_kind": kind,
        "memory_bytes_per_node": round(_median([m.memory_bytes for m in members])),
        "cpu_seconds_per_node": round(mean([m.cpu_seconds for m in members]), 3),
        "control_plane": collect.between(
            before, collect.control_plane(place.environment, place.cluster)
        ),
        "members": members,
        "faults": course.faults,
        "versions": versions.of_cluster(place.cluster, nodes),
        "machine": machine() if place.environment.local else {},
        "config": point.manifest(),
    }


def _running_seconds(nodes: Sequence[NodeStatus]) -> float | None:
    """From the start of the run until the last node knew that all had counted to the end."""
    starts = [node.started_at for node in nodes if node.started_at is not None]
    ends = [node.finished_at for node in nodes if node.finished_at is not None]
    return round(max(ends) - min(starts), 3) if starts and ends else None


def _are_equal(nodes: Sequence[NodeStatus], wanted: int) -> bool:
    return len(nodes) == wanted and len({(node.digest, node.value) for node in nodes}) == 1


def _are_exact(nodes: Sequence[NodeStatus]) -> bool | None:
    if all(node.counted is None for node in nodes):
        return None
    return all(node.counted == node.increments for node in nodes)


def _by_channel(nodes: Sequence[NodeStatus]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in nodes:
        for name, channel in node.channels:
            found[name] = found.get(name, 0) + channel.sent_bytes
    return found


def _sum(values: Sequence[int | None]) -> int | None:
    """The sum, unless a part is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def _line(status: ClusterStatus) -> str:
    """How far a cluster is."""
    wanted = status.replicas_wanted
    run = status.workload
    components = "-" if status.components is None else status.components
    return (
        f"ready {status.ready}/{wanted}  joined {status.joined}/{wanted}  components {components}"
        f"  impressions {run.value}/{run.threshold or '-'}  {run.phase}"
    )
