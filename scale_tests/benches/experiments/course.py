"""The course of a cell: what becomes known while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from scale_tests.benches.experiments.experiment import CLUSTER
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.partisan import ClusterStatus, read_cluster, read_ready_names


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
