"""A made-up run of four nodes, as the sampler would have seen it."""

from scale_tests.benches.demo.sample import Sample
from scale_tests.cluster.partisan import (
    ChannelRates,
    ClusterStatus,
    Condition,
    Pods,
    WorkloadStatus,
)
from scale_tests.cluster.tests.nodes import NODES, THRESHOLD, node

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
            timings={
                "appliedAt": "2026-01-01T00:00:00Z",
                "convergedAt": "2026-01-01T00:00:18.250Z",
                "joinedAt": "2026-01-01T00:00:04.500Z",
                "readyAt": "2026-01-01T00:00:04Z",
            },
            conditions=(condition,) if condition else (),
        ),
        nodes=nodes,
    )


def run(*, lost: int = 0) -> list[Sample]:
    """All samples, from the apply to the end."""
    return [sample(second, lost=lost) for second in range(19)]
