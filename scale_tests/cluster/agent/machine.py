"""The agent's Node, as the scheduler and the node controller see it."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path

import yaml

from scale_tests.cluster.kube import Json, moment
from scale_tests.host.templates import filled

NAME = "processes"
"""The Node's name, and the value of its label and taint."""

LABEL = "partisan.dev/agent"
"""Label and taint of the Node: only pods that select and tolerate both are scheduled there."""

_MANIFEST = Path(__file__).with_suffix(".yaml")

LEASES = "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 40


def node(*, pods: int, version: str, address: str) -> Json:
    """The Node with room for so many pods; `address` is the machine's."""
    found: Json = filled(
        yaml.safe_load(_MANIFEST.read_text()),
        pods=str(pods),
        version=version,
        address=address,
        kernel=platform.release(),
        now=moment(),
    )
    return found


def lease() -> Json:
    """The Lease that the agent renews."""
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
