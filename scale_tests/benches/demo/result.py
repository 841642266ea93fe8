"""The result of a run, computed from the last sample and the cluster's own times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scale_tests.benches.demo.sample import Sample, sent_bytes
from scale_tests.cluster.nodes import NodeStatus, components
from scale_tests.cluster.partisan import Seconds, milestones
from scale_tests.measure.checks import Check, equal


@dataclass(frozen=True, kw_only=True)
class ChannelTotals:
    """Totals over all nodes, sent on one channel in the run."""

    messages: int
    bytes: int
    dropped: int


@dataclass(frozen=True, kw_only=True)
class Result:
    """The outcome of a run, in the names of `demo.json`."""

    nodes: int
    ready: int
    joined: int
    components: int | None
    converged: bool
    value: int
    increments_sum: int
    threshold: int
    overcounting_percent: float
    lost_increments: int
    replaced_nodes: int
    seconds: Seconds
    channels: dict[str, ChannelTotals]
    sync_payload_bytes: int
    memory_bytes_per_node: int
    versions: dict[str, str] = field(default_factory=dict)


def compute(samples: Sequence[Sample], versions: dict[str, str]) -> Result:
    """The result of a run whose last sample is the last of `samples`, which is not empty."""
    status, nodes = samples[-1].cluster, samples[-1].nodes
    run = status.workload
    return Result(
        nodes=status.replicas_wanted,
        ready=status.ready,
        joined=status.joined,
        components=status.components,
        converged=status.converged == "True",
        value=run.value,
        increments_sum=run.increments_sum,
        threshold=run.threshold,
        overcounting_percent=run.overcounting_percent,
        lost_increments=run.lost_increments,
        replaced_nodes=run.replaced_nodes,
        seconds=milestones(dict(status.timings)),
        channels=channel_totals(samples),
        sync_payload_bytes=sum(node.sync_payload_bytes for node in nodes),
        memory_bytes_per_node=sum(node.memory_bytes for node in nodes) // max(1, len(nodes)),
        versions=versions,
    )


def channel_totals(samples: Sequence[Sample]) -> dict[str, ChannelTotals]:
    """Totals of each channel: bytes over all incarnations, the rest of those that run."""
    found = {}
    for channel, line in sorted(sent_bytes(samples).items()):
        own = [c for node in samples[-1].nodes for name, c in node.channels if name == channel]
        found[channel] = ChannelTotals(
            messages=sum(counters.sent_messages for counters in own),
            bytes=int(line[-1][1]),
            dropped=sum(counters.dropped for counters in own),
        )
    return found


def checks(result: Result, nodes: Sequence[NodeStatus]) -> list[Check]:
    """The targets of the demo. Those about `nodes` take the nodes' reports, not the operator's."""
    wanted = result.nodes
    values = {node.value for node in nodes}
    islands = components(nodes)
    accounted = result.value + result.lost_increments
    return [
        equal("ready", result.ready, wanted),
        equal("joined", result.joined, wanted),
        Check(
            name="components of the nodes' own views",
            value=islands,
            bar="= 1",
            ok=islands == 1 and len(nodes) == wanted,
        ),
        equal("converged", result.converged, True),
        Check(
            name="different values among the replicas",
            value=len(values),
            bar=f"= 1, the value {result.value}",
            ok=values == {result.value} and len({node.digest for node in nodes}) == 1,
        ),
        Check(
            name="value + lost increments",
            value=accounted,
            bar=f"= increments that the nodes made, {result.increments_sum}",
            ok=accounted == result.increments_sum,
        ),
        Check(
            name="value",
            value=result.value,
            bar=f">= threshold {result.threshold}",
            ok=result.value >= result.threshold > 0,
        ),
    ]
