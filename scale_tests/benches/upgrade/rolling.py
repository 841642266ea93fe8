"""The upgrade itself, and the reports of the nodes during it."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError
from scale_tests.cluster.nodes import NodeStatus, components
from scale_tests.cluster.partisan import ClusterStatus
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import repeating
from scale_tests.measure.spread import Cell

_PERIOD_SECONDS = 1.0


def upgrade(
    subject: Subject, earlier: Environment, chart: str, nodes: int, say: Callable[[str], None]
) -> list[Cell]:
    """Forms the cluster with the earlier revision, upgrades all parts, and follows the run.

    The last cell is the end of the run. Raises ApiError, CommandError, StalledError.
    """
    say(f"{nodes} nodes with the earlier revision")
    operator.install(earlier, chart=chart)
    workload = {"adCounter": counter(nodes, LASTING)}
    subject.apply(manifest(subject.name, nodes, workload=workload))
    subject.wait_steady()
    subject.wait_counted(2 * nodes)
    old, before = subject.uids(), subject.nodes()
    samples: list[Cell] = []
    step, started = "operator", time.monotonic()

    def sample() -> None:
        """Adds a sample, unless the API server does not answer."""
        with suppress(ApiError):
            found, seconds = reported(subject.nodes()), round(time.monotonic() - started, 1)
            samples.append({"what": "sample", "seconds": seconds, "step": step, **found})

    with repeating(sample, _PERIOD_SECONDS):
        say("operator, chart and CRD")
        began = time.monotonic()
        operator.install(subject.environment)
        seconds_operator = time.monotonic() - began
        say("nodes")
        step = "nodes"
        began = time.monotonic()
        subject.wait(
            "all nodes replaced",
            lambda status: status.steady and not set(old.values()) & set(subject.uids().values()),
        )
        seconds_nodes = time.monotonic() - began
        say(f"all nodes replaced after {seconds_nodes:.0f} s; the run ends")
        step = "afterwards"
        status = subject.end_run()
    return [
        *samples,
        {
            **end(status, subject.nodes()),
            "restarts": sum(subject.restarts().values()),
            "otp_before": sorted({node.otp for node in before}),
            "seconds_operator": round(seconds_operator, 1),
            "seconds_nodes": round(seconds_nodes, 1),
        },
    ]


def end(status: ClusterStatus, nodes: Sequence[NodeStatus]) -> Cell:
    """The end of a run, as operator and nodes report it."""
    run = status.workload
    return {
        "what": "end",
        "wanted": status.replicas_wanted,
        "nodes": len(nodes),
        "components": status.components,
        "value": run.value,
        "values": sorted({node.value for node in nodes}),
        "digests": len({node.digest for node in nodes}),
        "increments_sum": run.increments_sum,
        "threshold": run.threshold,
        "lost_increments": run.lost_increments,
        "replaced_nodes": run.replaced_nodes,
        "otp": sorted({node.otp for node in nodes}),
    }


def reported(nodes: Sequence[NodeStatus]) -> Cell:
    """The reports of the nodes that answer; `components` are of those that have joined."""
    joined = [node for node in nodes if node.joined]
    return {
        "answering": len(nodes),
        "joined": len(joined),
        "components": components(joined),
        "otp": dict(Counter(node.otp for node in nodes)),
        "lowest": min((node.value for node in joined), default=0),
        "highest": max((node.value for node in joined), default=0),
    }
