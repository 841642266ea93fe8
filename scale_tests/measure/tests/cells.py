"""A cell for tests."""

from typing import Any

from scale_tests.measure.cells import Component, Member, Result

MANIFEST = {
    "apiVersion": "partisan.dev/v1alpha1",
    "kind": "PartisanCluster",
    "metadata": {"name": "ads"},
    "spec": {
        "replicas": 8,
        "overlay": {"kind": "HyParView"},
        "workload": {
            "adCounter": {
                "ads": 1,
                "impressions": 1440,
                "incrementInterval": "333ms",
                "propagationInterval": "167ms",
            },
            "synchronization": "State",
        },
    },
}


def result(**changes: Any) -> Result:
    """A cell that went well, with some figures changed; others follow from its nodes."""
    nodes, threshold = changes.get("nodes", 8), changes.get("threshold", 1440)
    trial = changes.get("trial", 1)
    member = Member(
        name="ads-0",
        seconds_to_boot=1.0,
        seconds_to_joined=2.0 + trial,
        seconds_to_ready=3.0 + trial,
        increments=180,
        bytes_payload=1 << 20,
        bytes_frames=2 << 20,
        bytes_tcp=3 << 20,
        cpu_seconds=1.0,
        memory_bytes=16 << 20,
    )
    figures: dict[str, Any] = {
        "nodes": nodes,
        "overlay": "HyParView",
        "synchronization": "State",
        "simulated": False,
        "speedup": 30.0,
        "trial": trial,
        "seed": 1520775258,
        "converged": True,
        "exact": True,
        "value": threshold,
        "increments_sum": threshold,
        "lost": 0,
        "threshold": threshold,
        "overcounting_percent": 0.0,
        "bytes_payload": nodes << 20,
        "bytes_frames": nodes << 21,
        "bytes_tcp": 3 * nodes << 20,
        "bytes_frames_by_channel": {"gossip": nodes << 21},
        "seconds_to_ready": 5.0,
        "seconds_to_joined": 4.0,
        "seconds_running": 62.0,
        "seconds_to_converge": 2.0,
        "seconds_to_delete": 3.0,
        "seconds_in_all": 80.0,
        "mean_degree": 4.5,
        "restarts": 0,
        "memory_kind": "pss",
        "memory_bytes_per_node": 16 << 20,
        "cpu_seconds_per_node": 1.0,
        "control_plane": (Component(name="kubelet", cpu_seconds=2.0, memory_bytes=100 << 20),),
        "members": (member,) * nodes,
        "busy_before": 0.1,
        "left": (),
        "error": None,
        "faults": None,
        "started": "2026-01-01T00:00:00+00:00",
        "versions": {"otp": "25", "source": "abc"},
        "machine": {
            "cpus": 2,
            "cpu_model": "model",
            "memory_bytes": 8 << 30,
            "kernel": "6.1",
        },
        "config": MANIFEST,
    }
    return Result(**{**figures, **changes})
