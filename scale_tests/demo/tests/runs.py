"""A made-up run of four nodes, as the sampler would have seen it."""

from __future__ import annotations

from scale_tests.demo.samples import Sample
from scale_tests.harness.nodes import ChannelCounters, NodeStatus
from scale_tests.harness.partisan import (
    ChannelRates,
    ClusterStatus,
    Condition,
    Pods,
    WorkloadStatus,
)

NODES = 4
THRESHOLD = 40
MANIFEST = {
    "kind": "PartisanCluster",
    "metadata": {"name": "ads"},
    "spec": {
        "replicas": NODES,
        "overlay": {"kind": "HyParView"},
        "workload": {"adCounter": {"incrementInterval": "1s", "propagationInterval": "500ms"}},
    },
}
VERSIONS = {"kubernetes": "v1.36.3", "otp": "25", "source": "1a2b3c4"}


def node(index: int, second: int, *, incarnation: int = 1, sent: int | None = None) -> NodeStatus:
    """Node `index` of the ring at this second; it hears of increments `index` seconds late."""
    value = max(0, min(THRESHOLD, (second - 4 - index) * NODES))
    return NodeStatus(
        name=f"ads-{index}",
        incarnation=incarnation,
        joined=second > index,
        active=(f"ads-{(index + 1) % NODES}",) if second > index else (),
        increments=value // NODES,
        value=value,
        converged=value == THRESHOLD,
        phase="finished" if value == THRESHOLD else "running",
        digest=str(value),
        memory_bytes=20_000_000,
        sync_payload_bytes=50 * second,
        channels=(
            (
                "gossip",
                ChannelCounters(
                    sent_messages=second,
                    sent_bytes=100 * second if sent is None else sent,
                    received_messages=second,
                    received_bytes=100 * second,
                    dropped=0,
                ),
            ),
        ),
        version="0.1.0",
        otp="25",
    )


def sample(second: int, *, lost: int = 0, condition: Condition | None = None) -> Sample:
    """The whole cluster at this second after the apply."""
    nodes = tuple(node(index, second) for index in range(NODES) if second > 0)
    joined = sum(n.joined for n in nodes)
    finished = all(n.converged for n in nodes) and bool(nodes)
    value = max((n.value for n in nodes), default=0)
    return Sample(
        seconds=float(second),
        pods=Pods(
            created=NODES,
            ready=joined,
            names_running=tuple(n.name for n in nodes),
            restarts=0,
            waiting=(),
        ),
        cluster=ClusterStatus(
            name="ads",
            uid="u",
            generation=1,
            replicas_wanted=NODES,
            observed_generation=1,
            replicas=NODES,
            ready=joined,
            joined=joined,
            phase="Converged" if finished else "Running",
            converged="True" if finished else "False",
            overlay="HyParView",
            components=1 if joined == NODES else NODES - joined + 1,
            isolated=0,
            mean_degree=2.0,
            channels=(
                ChannelRates(
                    name="gossip",
                    messages=second * NODES,
                    bytes=400 * second,
                    dropped=0,
                    messages_per_second=4.0,
                    bytes_per_second=400.0,
                ),
            ),
            workload=WorkloadStatus(
                run="r",
                phase="Finished" if finished else "Running",
                value=value,
                increments_sum=value + lost,
                threshold=THRESHOLD,
                lost_increments=lost,
            ),
            timings=(
                ("appliedAt", "2026-01-01T00:00:00Z"),
                ("convergedAt", "2026-01-01T00:00:18.250Z"),
                ("joinedAt", "2026-01-01T00:00:04.500Z"),
                ("readyAt", "2026-01-01T00:00:04Z"),
            ),
            conditions=(condition,) if condition else (),
        ),
        nodes=nodes,
    )


def run(*, lost: int = 0) -> list[Sample]:
    """All samples, from the apply to the end."""
    return [sample(second, lost=lost) for second in range(19)]
