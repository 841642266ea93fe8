"""The upgrade itself, and the reports of the nodes during it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError
from scale_tests.cluster.nodes import NodeStatus, components
from scale_tests.cluster.partisan import ClusterStatus
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import repeating

_PERIOD_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The reports of the nodes that answered at one time; `components` of those that had joined."""

    seconds: float
    step: str
    answering: int
    joined: int
    components: int
    otp: dict[str, int]
    lowest: int
    highest: int


@dataclass(frozen=True, kw_only=True)
class Upgraded:
    """The result of an upgrade: all samples, and the state after the run's end."""

    before: list[NodeStatus]
    samples: list[Sample]
    status: ClusterStatus
    nodes: list[NodeStatus]
    restarts: int
    seconds_operator: float
    seconds_nodes: float


def upgrade(
    subject: Subject, earlier: Environment, chart: str, nodes: int, say: Callable[[str], None]
) -> Upgraded:
    """Forms the cluster with the earlier revision, upgrades all parts, and follows the run.

    Raises ApiError, CommandError, StalledError.
    """
    say(f"{nodes} nodes with the earlier revision")
    operator.install(earlier, chart=chart)
    workload = {"adCounter": counter(nodes, LASTING)}
    subject.apply(manifest(subject.name, nodes, workload=workload))
    subject.wait_steady()
    subject.wait_counted(2 * nodes)
    old, before = subject.uids(), subject.nodes()
    samples = _Samples(subject)
    with repeating(samples.take, _PERIOD_SECONDS):
        say("operator, chart and CRD")
        samples.step = "operator"
        began = time.monotonic()
        operator.install(subject.environment)
        seconds_operator = time.monotonic() - began
        say("nodes")
        samples.step = "nodes"
        began = time.monotonic()
        subject.wait(
            "all nodes replaced",
            lambda status: status.steady and not set(old.values()) & set(subject.uids().values()),
        )
        seconds_nodes = time.monotonic() - began
        say(f"all nodes replaced after {seconds_nodes:.0f} s; the run ends")
        samples.step = "afterwards"
        status = subject.end_run()
    return Upgraded(
        before=before,
        samples=samples.found,
        status=status,
        nodes=subject.nodes(),
        restarts=sum(subject.restarts().values()),
        seconds_operator=seconds_operator,
        seconds_nodes=seconds_nodes,
    )


@dataclass
class _Samples:
    subject: Subject
    step: str = "before"
    found: list[Sample] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def take(self) -> None:
        """Adds a sample, unless the API server does not answer."""
        with suppress(ApiError):
            nodes = self.subject.nodes()
            joined = [node for node in nodes if node.joined]
            self.found.append(
                Sample(
                    seconds=round(time.monotonic() - self.began, 1),
                    step=self.step,
                    answering=len(nodes),
                    joined=len(joined),
                    components=components(joined),
                    otp=dict(Counter(node.otp for node in nodes)),
                    lowest=min((node.value for node in joined), default=0),
                    highest=max((node.value for node in joined), default=0),
                )
            )
