"""The course of a cell: what becomes known while it runs, and is asked before it is deleted."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scale_tests.benches.experiments import collect
from scale_tests.benches.experiments.collect import Usage
from scale_tests.benches.experiments.experiment import CLUSTER, Point
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, Json
from scale_tests.cluster.nodes import NodeStatus, read_metrics, read_node
from scale_tests.cluster.partisan import (
    ClusterStatus,
    milestones,
    read_cluster,
    read_pods,
    read_ready_names,
)
from scale_tests.measure import versions
from scale_tests.measure.cells import mean, median
from scale_tests.measure.document import machine


@dataclass(frozen=True, kw_only=True)
class Place:
    """The place where cells run."""

    environment: Environment
    cluster: Cluster
    namespace: str
    evidence: Path
    """The directory for the state of a failed cell."""


@dataclass(kw_only=True)
class Course:
    """The knowledge of a cell so far."""

    applied: float
    """Seconds since 1970."""
    status: ClusterStatus | None = None
    ready: dict[str, float] = field(default_factory=dict)
    """When each node was first seen ready, in seconds since the apply."""
    error: str = ""
    """The last error of the API server."""

    @property
    def is_ready(self) -> bool:
        """Whether every node has been seen ready."""
        return self.status is not None and len(self.ready) >= self.status.replicas_wanted

    @property
    def is_whole(self) -> bool:
        """Whether every node has been seen ready, and all have joined."""
        return self.status is not None and self.status.steady and self.is_ready


def observe(place: Place, course: Course) -> ClusterStatus:
    """Reads the cluster's status and, until all are, which nodes are ready.

    While an API server is too busy to answer, the last status holds. Raises ApiError where there is
    none.
    """
    try:
        if not course.is_whole:
            for name in read_ready_names(place.cluster, place.namespace, CLUSTER):
                course.ready.setdefault(name, round(time.time() - course.applied, 3))
        course.status = read_cluster(place.cluster, place.namespace, CLUSTER)
        course.error = ""
    except ApiError as error:
        if course.status is None:
            raise
        course.error = str(error)
    return course.status


def figures(place: Place, point: Point, course: Course, before: dict[str, Usage]) -> Json:
    """All figures of a cell but those of its end, as `Result` has them. Raises ApiError.

    `before` is the usage of the control plane when the cell began.
    """
    pods = read_pods(place.cluster, place.namespace, CLUSTER)
    names, where = pods.names_running, (place.cluster, place.namespace)
    nodes = list(collect.ask(names, lambda name: read_node(*where, name)).values())
    measured = collect.ask(names, lambda name: read_metrics(*where, name))
    kind, usage = collect.usage_of_nodes(place.environment, place.namespace, nodes, measured)
    members = collect.members(nodes, measured, usage, applied=course.applied, ready=course.ready)
    status = course.status or read_cluster(place.cluster, place.namespace, CLUSTER)
    running = _running_seconds(nodes) if status.finished else None
    counting = point.counting_seconds()
    equal = len(nodes) == point.nodes and len({(node.digest, node.value) for node in nodes}) == 1
    keeps_counts = any(node.counted is not None for node in nodes)
    tcp = [member.bytes_tcp for member in members if member.bytes_tcp is not None]
    by_channel: Counter[str] = Counter()
    for node in nodes:
        by_channel.update({name: channel.sent_bytes for name, channel in node.channels})
    return {
        "nodes": point.nodes,
        "overlay": point.overlay.name,
        "synchronization": point.synchronization,
        "simulated": False,
        "speedup": point.speedup,
        "trial": point.trial,
        "seed": point.seed,
        "converged": status.finished and equal,
        "exact": all(n.counted == n.increments for n in nodes) if keeps_counts else None,
        "value": nodes[0].value if equal else status.workload.value,
        "increments_sum": status.workload.increments_sum,
        "lost": status.workload.lost_increments,
        "threshold": point.threshold,
        "overcounting_percent": status.workload.overcounting_percent,
        "bytes_payload": sum(member.bytes_payload for member in members),
        "bytes_frames": sum(member.bytes_frames for member in members),
        "bytes_tcp": sum(tcp) if len(tcp) == len(members) else None,
        "bytes_frames_by_channel": dict(by_channel),
        "seconds_to_ready": max(course.ready.values()) if course.is_ready else None,
        "seconds_to_joined": milestones(status.timings)["apply_to_joined"],
        "seconds_running": running,
        "seconds_to_converge": None if running is None else round(running - counting, 3),
        "mean_degree": round(mean([len(node.active) for node in nodes]), 3),
        "restarts": pods.restarts,
        "memory_kind": kind,
        "memory_bytes_per_node": round(median([m.memory_bytes for m in members])),
        "cpu_seconds_per_node": round(mean([m.cpu_seconds for m in members]), 3),
        "control_plane": collect.between(
            before, collect.control_plane(place.environment, place.cluster)
        ),
        "members": members,
        "faults": None,
        "versions": versions.of_cluster(place.cluster, nodes),
        "machine": machine() if place.environment.local else {},
        "config": point.manifest(),
    }


def _running_seconds(nodes: Sequence[NodeStatus]) -> float | None:
    """From the start of the run until the last node knew that all had counted to the end."""
    starts = [node.started_at for node in nodes if node.started_at is not None]
    ends = [node.finished_at for node in nodes if node.finished_at is not None]
    return round(max(ends) - min(starts), 3) if starts and ends else None
