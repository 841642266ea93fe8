"""Made-up samples of a ring of four nodes, as the recorder would have seen it."""

from collections.abc import Iterable

from scale_tests.benches.churn.timeline import Phase, Sample
from scale_tests.cluster.nodes import ChannelCounters, NodeStatus
from scale_tests.cluster.partisan import ClusterStatus, Condition, WorkloadStatus

NODES = 4
NAMES = tuple(f"churn-{index}" for index in range(NODES))
INCARNATIONS = {name: index + 1 for index, name in enumerate(NAMES)}


def node(
    name: str,
    active: Iterable[str],
    *,
    incarnation: int | None = None,
    value: int = 10,
    sent: int = 0,
    joined: bool = True,
) -> NodeStatus:
    """A node with these neighbours."""
    counters = ChannelCounters(sent_messages=0, sent_bytes=sent, dropped=0)
    return NodeStatus(
        name=name,
        incarnation=INCARNATIONS[name] if incarnation is None else incarnation,
        joined=joined,
        active=tuple(active),
        increments=0,
        value=value,
        converged=False,
        phase="running",
        digest=str(value),
        memory_bytes=0,
        sync_payload_bytes=sent // 10,
        channels=(("gossip", counters),),
        version="0.1.0",
        otp="25",
    )


def ring(*, value: int = 10) -> tuple[NodeStatus, ...]:
    """All nodes, each linked to the next."""
    return tuple(
        node(name, [NAMES[(index + 1) % NODES]], value=value) for index, name in enumerate(NAMES)
    )


def sample(
    seconds: float,
    nodes: Iterable[NodeStatus],
    *,
    increments: int = 10,
    lost: int = 0,
    replaced: int = 0,
    components: int = 1,
) -> Sample:
    """A sample of these nodes, with the status that the operator reports."""
    seen = tuple(nodes)
    reason = "OneComponent" if components == 1 else "Partitioned"
    return Sample(
        seconds=seconds,
        nodes=seen,
        cluster=ClusterStatus(
            name="churn",
            uid="u",
            generation=1,
            observed_generation=1,
            replicas_wanted=NODES,
            replicas=NODES,
            ready=NODES,
            joined=sum(n.joined for n in seen),
            components=components,
            conditions=(
                Condition(
                    type="OverlayConnected",
                    status="True" if components == 1 else "False",
                    reason=reason,
                    message="",
                ),
            ),
            workload=WorkloadStatus(
                value=max((n.value for n in seen), default=0),
                increments_sum=increments,
                lost_increments=lost,
                replaced_nodes=replaced,
            ),
        ),
    )


def kill(*victims: str, at: float = 10.0) -> Phase:
    """These nodes killed at this time."""
    return Phase(
        name="kill", kind="kill", at=at, incarnations=INCARNATIONS, victims=list(victims), until=at
    )
