"""Observing a run: one sample a second, until the run is over, fails or stands still."""

from __future__ import annotations

import time
from collections.abc import Iterator

from scale_tests.benches.demo.samples import Sample
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.nodes import read_nodes
from scale_tests.cluster.partisan import read_cluster, read_pods
from scale_tests.cluster.wait import STALL_SECONDS, StallClock, StalledError

PERIOD_SECONDS = 1.0


def take(cluster: Cluster, namespace: str, name: str, started: float) -> Sample:
    """Takes one sample; `started` is the time of the apply by `time.monotonic`. Raises ApiError."""
    pods = read_pods(cluster, namespace, name)
    nodes = read_nodes(cluster, namespace, pods.names_running)
    return Sample(
        seconds=time.monotonic() - started,
        pods=pods,
        cluster=read_cluster(cluster, namespace, name),
        nodes=tuple(nodes),
    )


def follow(
    cluster: Cluster,
    namespace: str,
    name: str,
    started: float,
    *,
    stall_seconds: float = STALL_SECONDS,
) -> Iterator[Sample]:
    """Yields samples until one shows the finished run.

    Raises:
        StalledError: nothing has moved for `stall_seconds`.
        ApiError: the API server does not answer.
    """
    clock = StallClock()
    while True:
        due = time.monotonic() + PERIOD_SECONDS
        sample = take(cluster, namespace, name, started)
        yield sample
        # The operator's word and the nodes' must agree before the last sample is taken.
        if sample.cluster.finished and sample.converged == sample.cluster.replicas_wanted:
            return
        stalled = clock.observe(sample.progress())
        if stalled > stall_seconds:
            raise StalledError(f"nothing has moved for {stalled:.0f} s")
        time.sleep(max(0.0, due - time.monotonic()))
