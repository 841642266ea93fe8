"""One cell: a cluster from its apply until nothing of it is left."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from scale_tests.benches.experiments import collect
from scale_tests.benches.experiments.course import Course, Place, figures, observe
from scale_tests.benches.experiments.experiment import CLUSTER, Point
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, core, partisan_cluster
from scale_tests.cluster.must_gather import must_gather
from scale_tests.cluster.partisan import CLUSTER_LABEL, ClusterStatus, children
from scale_tests.cluster.wait import StallClock, StalledError, wait_for
from scale_tests.host import procfs
from scale_tests.measure.cells import Rest, Result

AT_REST = 0.3
"""The share of busy processors below which a machine counts as at rest."""

FORMING_SECONDS, RUNNING_SECONDS = 0.5, 1.0
"""The period at which a cluster is observed."""

Say = Callable[[str], None]
"""Takes a line of progress."""


def run(place: Place, point: Point, say: Say) -> Result:
    """Runs a cell; an incomplete one is a result with an error.

    Raises ApiError where the manifest is refused, or the cluster cannot be reached.
    """
    started = datetime.now(UTC)
    busy = _settle(place.environment, point.experiment.settle_seconds)
    before = collect.control_plane(place.environment, place.cluster)
    course = Course(applied=time.time())
    # A manifest that the API server rejects is no result: the experiment is invalid.
    place.cluster.create(partisan_cluster(place.namespace), point.manifest())
    error = None
    try:
        _follow(place, point, course, say)
    except (StalledError, ApiError) as failure:
        error = f"{type(failure).__name__}: {failure}"
        must_gather(place.cluster, place.namespace, place.evidence / point.slug)
    rest = None if error else _rest(place.environment, point.experiment.rest_seconds, say)
    say("collecting")
    cell = figures(place, point, course, before)
    say("deleting")
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


def remove(cluster: Cluster, namespace: str) -> list[str]:
    """Deletes the cell's cluster; returns what has not gone.

    The nodes have nothing to hand over any more: they are hurried once nothing makes new ones. An
    API server that a large cluster's end keeps busy is asked again, so that no cell is lost.
    """
    label = f"{CLUSTER_LABEL}={CLUSTER}"
    stateful_sets = f"apis/apps/v1/namespaces/{namespace}/statefulsets"

    def left() -> list[str]:
        try:
            return children(cluster, namespace, CLUSTER)
        except ApiError as error:
            return [f"unknown: {error}"]

    def deleted(path: str, **query: str) -> bool:
        with suppress(ApiError):
            cluster.delete(path, **query)
            return True
        return False

    def shards() -> int | None:
        with suppress(ApiError):
            return len(cluster.list(stateful_sets, label))
        return None

    hurry = {"labelSelector": label, "gracePeriodSeconds": "1"}
    try:
        wait_for("deletion", lambda: deleted(partisan_cluster(namespace, CLUSTER)), bool)
        wait_for("deletion", shards, lambda n: n == 0)
        wait_for("deletion", lambda: deleted(core(namespace, "pods"), **hurry), bool)
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


def _rest(environment: Environment, seconds: float, say: Say) -> Rest | None:
    """Watches the machine, if it is this one and `seconds` is not 0."""
    if not environment.local or seconds == 0:
        return None
    say(f"at rest, watched for {seconds:.0f} s")
    busy = procfs.busy_share(seconds)
    memory, swapped = procfs.memory_used()
    return Rest(seconds=seconds, busy=round(busy, 3), memory_bytes=memory, swapped_bytes=swapped)


def _follow(place: Place, point: Point, course: Course, say: Say) -> None:
    """Observes the cluster until its run has ended. Raises StalledError, ApiError."""
    clock = StallClock()
    while True:
        due = time.monotonic() + (RUNNING_SECONDS if course.is_whole else FORMING_SECONDS)
        status = observe(place, course)
        line = course.error or _line(status)
        say(line)
        if status.finished:
            return
        stalled = clock.observe(status.progress)
        if stalled > point.experiment.stall_seconds:
            raise StalledError(f"nothing has moved for {stalled:.0f} s: {line}")
        time.sleep(max(0.0, due - time.monotonic()))


def _line(status: ClusterStatus) -> str:
    """The progress of a cluster."""
    wanted, run = status.replicas_wanted, status.workload
    components = "-" if status.components is None else status.components
    return (
        f"ready {status.ready}/{wanted}  joined {status.joined}/{wanted}  components {components}"
        f"  impressions {run.value}/{run.threshold or '-'}  {run.phase}"
    )
