"""The result of a run, computed from the last sample and the cluster's own times."""

from collections.abc import Mapping, Sequence
from typing import Any

from scale_tests.benches.demo.sample import Sample, sent_bytes
from scale_tests.cluster.nodes import NodeStatus, components
from scale_tests.cluster.partisan import milestones
from scale_tests.measure.checks import Check, equal


def compute(samples: Sequence[Sample], versions: Mapping[str, str]) -> dict[str, Any]:
    """The outcome of a run, in the names of `demo.json`; there is at least one sample."""
    status, nodes = samples[-1].cluster, samples[-1].nodes
    run = status.workload
    return {
        "nodes": status.replicas_wanted,
        "ready": status.ready,
        "joined": status.joined,
        "components": status.components,
        "converged": status.converged == "True",
        "value": run.value,
        "increments_sum": run.increments_sum,
        "threshold": run.threshold,
        "overcounting_percent": run.overcounting_percent,
        "lost_increments": run.lost_increments,
        "replaced_nodes": run.replaced_nodes,
        "seconds": milestones(status.timings),
        "channels": _channels(samples),
        "sync_payload_bytes": sum(node.sync_payload_bytes for node in nodes),
        "memory_bytes_per_node": sum(node.memory_bytes for node in nodes) // max(1, len(nodes)),
        "versions": dict(versions),
    }


def _channels(samples: Sequence[Sample]) -> dict[str, dict[str, int]]:
    """Sent on each channel by all nodes: bytes of all incarnations, the rest of those that run."""
    found = {}
    for channel, line in sorted(sent_bytes(samples).items()):
        own = [c for node in samples[-1].nodes for name, c in node.channels if name == channel]
        found[channel] = {
            "messages": sum(counters.sent_messages for counters in own),
            "bytes": int(line[-1][1]),
            "dropped": sum(counters.dropped for counters in own),
        }
    return found


def checks(result: Mapping[str, Any], nodes: Sequence[NodeStatus]) -> list[Check]:
    """The targets of the demo. Those about `nodes` take the nodes' reports, not the operator's."""
    wanted, value, made = (result[key] for key in ("nodes", "value", "increments_sum"))
    values = {node.value for node in nodes}
    islands = components(nodes)
    accounted = value + result["lost_increments"]
    return [
        equal("ready", result["ready"], wanted),
        equal("joined", result["joined"], wanted),
        Check(
            name="components of the nodes' own views",
            value=islands,
            bar="= 1",
            ok=islands == 1 and len(nodes) == wanted,
        ),
        equal("converged", result["converged"], True),
        Check(
            name="different values among the replicas",
            value=len(values),
            bar=f"= 1, the value {value}",
            ok=values == {value} and len({node.digest for node in nodes}) == 1,
        ),
        Check(
            name="value + lost increments",
            value=accounted,
            bar=f"= increments that the nodes made, {made}",
            ok=accounted == made,
        ),
        Check(
            name="value",
            value=value,
            bar=f">= threshold {result['threshold']}",
            ok=value >= result["threshold"] > 0,
        ),
    ]
