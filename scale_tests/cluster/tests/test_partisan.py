"""Reading clusters, pods and nodes out of JSON."""

from typing import Any

from scale_tests.cluster.nodes import NodeStatus, components, node_status
from scale_tests.cluster.partisan import cluster_status, pods

CLUSTER: dict[str, Any] = {
    "metadata": {"name": "ads", "uid": "u", "generation": 2},
    "spec": {"replicas": 2, "overlay": {"kind": "HyParView"}},
}
STATUS: dict[str, Any] = {
    "observedGeneration": 2,
    "replicas": 2,
    "ready": 2,
    "joined": 2,
    "phase": "Converged",
    "converged": "True",
    "overlay": {"kind": "HyParView", "components": 1, "isolated": 0, "meanDegree": 1.0},
    "workload": {"run": "r", "phase": "Finished", "value": 7, "overcountingPercent": 2.5},
    "conditions": [
        {"type": "Ready", "status": "True", "reason": "AllReady", "message": "2 nodes are ready"}
    ],
}
NODE: dict[str, Any] = {
    "node": "ads-0",
    "incarnation": 5,
    "version": "0.1.0",
    "otp": "25",
    "memory_bytes": 1,
    "overlay": {"kind": "hyparview", "joined": True, "active": ["ads-1"], "passive": []},
    "channels": {
        "gossip": {
            "sent_messages": 1,
            "sent_bytes": 2,
            "received_messages": 3,
            "received_bytes": 4,
            "dropped": 5,
            "queue_bytes": 0,
            "connections": 1,
        }
    },
}


def named(name: str, *active: str) -> NodeStatus:
    overlay = {"kind": "hyparview", "joined": True, "active": list(active), "passive": []}
    return node_status({**NODE, "node": name, "overlay": overlay})


def pod(name: str, phase: str, *, ready: bool = False, waiting: str = "") -> dict[str, Any]:
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    return {
        "metadata": {"name": name},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [{"state": state, "restartCount": 1}],
        },
    }


def test_a_cluster_that_no_operator_has_seen_has_defaults() -> None:
    status = cluster_status(CLUSTER)
    assert (status.joined, status.components, status.converged) == (0, None, "Unknown")
    assert not status.current
    assert not status.finished


def test_a_finished_cluster_is_steady_and_finished() -> None:
    status = cluster_status({**CLUSTER, "status": STATUS})
    assert status.steady
    assert status.finished
    assert status.is_true("Ready")
    assert not status.is_true("Degraded")


def test_a_status_of_an_older_spec_is_not_finished() -> None:
    assert not cluster_status({**CLUSTER, "status": {**STATUS, "observedGeneration": 1}}).finished


def test_a_finished_run_in_a_torn_overlay_is_not_finished() -> None:
    torn = {**STATUS, "overlay": {**STATUS["overlay"], "components": 2}}
    assert not cluster_status({**CLUSTER, "status": torn}).finished


def test_pods_are_counted_by_their_status() -> None:
    counted = pods(
        [
            pod("ads-1", "Running", ready=True),
            pod("ads-0", "Running"),
            pod("ads-2", "Pending", waiting="ErrImagePull"),
        ]
    )
    assert (counted.created, counted.ready, counted.restarts) == (3, 1, 3)
    assert counted.names_running == ("ads-0", "ads-1")
    assert counted.waiting == ("ErrImagePull",)


def test_a_node_without_a_workload_counts_nothing() -> None:
    node = node_status(NODE)
    assert (node.value, node.increments, node.converged) == (0, 0, False)
    assert dict(node.channels)["gossip"].sent_bytes == 2


def test_components_use_links_of_either_end_and_ignore_unknown_nodes() -> None:
    nodes = [named("a", "b"), named("b"), named("c", "gone"), named("d", "c")]
    assert components(nodes) == 2
    assert components([]) == 0
