"""Made-up nodes of a small cluster that counts."""

from scale_tests.cluster.nodes import ChannelCounters, NodeStatus

NODES = 4
THRESHOLD = 40


def node(index: int, second: int, *, incarnation: int = 1, sent: int | None = None) -> NodeStatus:
    """Node `index` of the ring at this second; it receives increments `index` seconds late."""
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
                    dropped=0,
                ),
            ),
        ),
        version="0.1.0",
        otp="25",
    )
