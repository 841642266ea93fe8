"""One cell: a cluster formed and deleted, with what both cost."""

import os
import time
from collections.abc import Callable
from contextlib import suppress

from scale_tests.benches.deletion.plan import CLUSTER, Point
from scale_tests.cluster.agent import machine
from scale_tests.cluster.kube import ApiError, Cluster, core, partisan_cluster
from scale_tests.cluster.local_nodes import processes
from scale_tests.cluster.monitoring.exposition import Page
from scale_tests.cluster.nodes import read_nodes
from scale_tests.cluster.partisan import ClusterStatus, read_cluster
from scale_tests.cluster.removal import renew_namespace
from scale_tests.cluster.wait import StallClock, StalledError, repeating, wait_for
from scale_tests.host import procfs
from scale_tests.measure.spread import Cell

NAMESPACE = "bench-deletion"
FORMATION_STALL_SECONDS = 600.0
GONE_STALL_SECONDS = 300.0
SETTLE_SECONDS = 10.0
"""Pause between formation and deletion, so that formation is over when deletion begins."""

_PROBE_SECONDS = 0.25
_POLL_SECONDS = 1.0


def answer_seconds(cluster: Cluster) -> float:
    """Asks the API server one small thing; returns the time until it has answered."""
    began = time.monotonic()
    with suppress(ApiError):  # Out of reach: the time until that is known counts.
        cluster.text(core("default", "configmaps"))
    return time.monotonic() - began


def cpu_seconds() -> float:
    """The processor time of all nodes since the agent's start, the ended ones included.

    The kernel adds that of children which the agent, this process's parent, has waited for.
    """
    seconds = procfs.children_cpu_seconds(os.getppid())
    for pid in processes(NAMESPACE).values():
        with suppress(*procfs.ENDED):
            seconds += procfs.cpu_seconds(pid)
    return seconds


def run(cluster: Cluster, point: Point, say: Callable[[str], None]) -> Cell:
    """Runs a cell. Raises ApiError, StalledError: the cluster does not form."""
    renew_namespace(cluster, NAMESPACE, restricted=True)
    at_start, began = cpu_seconds(), time.monotonic()
    cluster.create(partisan_cluster(NAMESPACE), point.manifest())
    _await_formation(cluster, say)
    formation_seconds, formed = time.monotonic() - began, cpu_seconds()
    otp = {node.otp for node in read_nodes(cluster, NAMESPACE, [f"{CLUSTER}-0", f"{CLUSTER}-1"])}
    say(f"formed in {formation_seconds:.0f} s, {formed - at_start:.1f} s of processor time")
    time.sleep(SETTLE_SECONDS)
    before, calls_before = cpu_seconds(), api_calls(cluster)
    answers: list[float] = []
    with repeating(lambda: answers.append(answer_seconds(cluster)), _PROBE_SECONDS):
        deleting = time.monotonic()
        whole = point.deleted == "namespace"
        cluster.delete(
            f"api/v1/namespaces/{NAMESPACE}" if whole else partisan_cluster(NAMESPACE, CLUSTER)
        )
        left, polls = _await_end(cluster, say)
        seconds = time.monotonic() - deleting
    # The agent has yet to wait for the last processes.
    with suppress(StalledError):
        wait_for("the last process", lambda: len(processes(NAMESPACE)), lambda n: n == 0)
    return {
        "nodes": point.nodes,
        "overlay": point.overlay,
        "where": machine.NAME,
        "deleted": point.deleted,
        "seconds": round(seconds, 2),
        "nodes_cpu_s": round(cpu_seconds() - before, 2),
        "formation_cpu_s": round(formed - at_start, 2),
        "formation_seconds": round(formation_seconds, 2),
        "api_calls": round(api_calls(cluster) - calls_before) - len(answers) - polls,
        "slowest_answer_s": round(max(answers, default=0.0), 3),
        "left": left,
        "otp": ", ".join(sorted(otp)),
    }


def api_calls(cluster: Cluster) -> float:
    """The requests that the API server has answered so far. Raises ApiError."""
    lines = cluster.text("metrics").splitlines(keepends=True)
    name = "apiserver_request_total"
    return Page.parse("".join(line for line in lines if line.startswith(f"{name}{{"))).total(name)


def _await_formation(cluster: Cluster, say: Callable[[str], None]) -> None:
    def read() -> ClusterStatus:
        status = read_cluster(cluster, NAMESPACE, CLUSTER)
        say(f"{status.ready} ready, {status.joined} joined, {status.components} components")
        return status

    wait_for(
        "the formation",
        read,
        lambda status: status.steady,
        progress=lambda status: status.progress,
        stall_seconds=FORMATION_STALL_SECONDS,
        period_seconds=_POLL_SECONDS,
    )


def _await_end(cluster: Cluster, say: Callable[[str], None]) -> tuple[int, int]:
    """Waits until no pod is left, or none goes any more; returns how many are, and polls."""
    clock, polls = StallClock(), 0
    while True:
        polls += 1
        left = _pods(cluster)
        say(f"{'?' if left is None else left} pods left")
        if left == 0 or clock.observe(left) > GONE_STALL_SECONDS:
            return left or 0, polls
        time.sleep(_POLL_SECONDS)


def _pods(cluster: Cluster) -> int | None:
    """The number of pods in the report of one of them; None without an answer."""
    try:
        found = cluster.get(core(NAMESPACE, "pods"), limit="1")
    except ApiError:
        return None
    return len(found["items"]) + int(found["metadata"].get("remainingItemCount") or 0)
