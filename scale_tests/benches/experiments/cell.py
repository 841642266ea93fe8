"""One cell: a cluster from its apply until nothing of it is left."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Protocol

from scale_tests.benches.experiments import collect, faults, figures
from scale_tests.benches.experiments.course import Course, Place, look
from scale_tests.benches.experiments.experiment import CLUSTER, Point
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, Json, core, partisan_cluster
from scale_tests.cluster.must_gather import must_gather
from scale_tests.cluster.partisan import CLUSTER_LABEL, ClusterStatus, children
from scale_tests.cluster.wait import StallClock, StalledError, wait_for
from scale_tests.host import procfs
from scale_tests.measure.cells import Rest, Result

AT_REST = 0.3
"""The share of busy processors below which a machine counts as at rest."""

FORMING_SECONDS, RUNNING_SECONDS = 0.5, 1.0
"""How often a cluster is looked at."""


class Tell(Protocol):
    """Takes how far a cell is."""

    def __call__(self, line: str, counted: float | None = None) -> None:
        """Takes a line and, while nodes count, the share of the impressions that they have."""


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
    rest = None if error else _rest(place.environment, point.experiment.rest_seconds, tell)
    tell("collecting")
    cell = figures.read(place, point, course, before)
    tell("deleting")
    deleting = time.monotonic()
    left = remove(place.cluster, place.namespace)
    return Result(
        **cell,
        seconds_to_delete=round(time.monotonic() - deleting, 2) if not left else None,
        seconds_in_all=round((datetime.now(UTC) - started).total_seconds(), 2),
        busy_before=busy,
        at_rest=rest,
        left=tuple(left),
        error=error,
        started=started.isoformat(timespec="seconds"),
    )


class FaultError(Exception):
    """The hook of a cell's faults raised something."""


def remove(cluster: Cluster, namespace: str) -> list[str]:
    """Deletes the cell's cluster; returns what has not gone.

    The nodes have nothing to hand over any more. They are told to hurry once nobody would make
    new ones. An API server that a large cluster's end keeps busy is asked again: what a cell has
    shown is not lost for want of an answer now.
    """
    label = f"{CLUSTER_LABEL}={CLUSTER}"
    stateful_sets = f"apis/apps/v1/namespaces/{namespace}/statefulsets"

    def left() -> list[str]:
        try:
            return children(cluster, namespace, CLUSTER)
        except ApiError as error:
            return [f"unknown: {error}"]

    def asked(path: str, **query: str) -> bool:
        try:
            cluster.delete(path, **query)
        except ApiError:
            return False
        return True

    def shards() -> int | None:
        try:
            return len(cluster.list(stateful_sets, label))
        except ApiError:
            return None

    try:
        wait_for("deletion", lambda: asked(partisan_cluster(namespace, CLUSTER)), bool)
        wait_for("deletion", shards, lambda n: n == 0)
        hurry = {"labelSelector": label, "gracePeriodSeconds": "1"}
        wait_for("deletion", lambda: asked(core(namespace, "pods"), **hurry), bool)
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


def _rest(environment: Environment, seconds: float, tell: Tell) -> Rest | None:
    """Watches the machine for so long, if it is this one and there is something to watch."""
    if not environment.local or seconds == 0:
        return None
    tell(f"at rest, watched for {seconds:.0f} s")
    busy = procfs.busy_share(seconds)
    memory, swapped = procfs.memory_used()
    return Rest(seconds=seconds, busy=round(busy, 3), memory_bytes=memory, swapped_bytes=swapped)


def _follow(place: Place, point: Point, course: Course, tell: Tell) -> None:
    """Looks at the cluster until its run has ended, and its faults with it.

    Raises:
        StalledError, ApiError, FaultError
    """
    clock = StallClock()
    suffering: Future[Json] | None = None
    with ThreadPoolExecutor(max_workers=1) as executor:
        while True:
            due = time.monotonic() + (RUNNING_SECONDS if course.is_whole else FORMING_SECONDS)
            status = look(place, course)
            tell(course.trouble or _line(status), _counted(status))
            if suffering is None and status.workload.phase == "Running":
                suffering = _suffer(executor, place, point)
            suffers = suffering is not None and not suffering.done()
            if suffering is not None and not suffers:
                course.faults = _suffered(suffering)
            if status.finished and not suffers:
                return
            stalled = clock.observe(status.progress)
            if stalled > point.experiment.stall_seconds and not suffers:
                seen = course.trouble or _line(status)
                raise StalledError(f"nothing has moved for {stalled:.0f} s: {seen}")
            time.sleep(max(0.0, due - time.monotonic()))


def _suffer(executor: ThreadPoolExecutor, place: Place, point: Point) -> Future[Json] | None:
    """Lets the experiment's faults happen, if it has any."""
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
    """What the faults' hook has returned. Raises FaultError if it has raised."""
    failure = future.exception()
    if failure is not None:
        raise FaultError(f"the hook raised {type(failure).__name__}: {failure}") from failure
    return future.result()


def _counted(status: ClusterStatus) -> float | None:
    """The share of its impressions that a cluster has counted, while it counts."""
    run = status.workload
    return run.value / run.threshold if run.phase == "Running" and run.threshold else None


def _line(status: ClusterStatus) -> str:
    """How far a cluster is."""
    wanted = status.replicas_wanted
    run = status.workload
    components = "-" if status.components is None else status.components
    return (
        f"ready {status.ready}/{wanted}  joined {status.joined}/{wanted}  components {components}"
        f"  impressions {run.value}/{run.threshold or '-'}  {run.phase}"
    )
