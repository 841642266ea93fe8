"""The agent's Node: what the scheduler and the node controller see of it."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

from scale_tests.cluster.kube import Json, moment

NAME = "processes"
"""The Node's name, and the value of its label and taint."""

LABEL = "partisan.dev/agent"
"""Label and taint of the Node: only pods that ask for both come to it."""

RUNTIME = "process://plain"
"""What stands where a Node names its container runtime."""

LEASES = "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 40


def node(*, pods: int, version: str, address: str) -> Json:
    """The Node with room for so many pods; `address` is the machine's."""
    room = {"cpu": "64", "memory": "256Gi", "pods": str(pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NAME,
            "labels": {
                LABEL: NAME,
                "kubernetes.io/hostname": NAME,
                "kubernetes.io/os": "linux",
            },
        },
        "spec": {"taints": [{"key": LABEL, "value": NAME, "effect": "NoSchedule"}]},
        "status": {
            "capacity": room,
            "allocatable": room,
            "addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "AgentReady",
                    "message": "pods run as plain processes",
                    "lastHeartbeatTime": moment(),
                    "lastTransitionTime": moment(),
                }
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": RUNTIME,
                "kernelVersion": platform.release(),
                "kubeProxyVersion": "",
                "kubeletVersion": version,
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "plain processes",
                "systemUUID": "",
            },
        },
    }


def lease() -> Json:
    """The Lease whose renewal tells that the agent lives."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": NAME, "namespace": "kube-node-lease"},
        "spec": {
            "holderIdentity": NAME,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
