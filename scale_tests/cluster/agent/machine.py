"""The agent's Node and the status of its pods, as the control plane sees them."""

import platform
from dataclasses import dataclass
from datetime import UTC, datetime

from scale_tests.cluster.kube import Json, moment
from scale_tests.host.documents import data_of
from scale_tests.host.templates import filled

NAME = "processes"
"""The Node's name, and the value of its label and taint."""

LABEL = "partisan.dev/agent"
"""Label and taint of the Node: only pods that select and tolerate both are scheduled there."""

LEASE = f"apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NAME}"
_DATA: Json = data_of(__file__)


def node(*, pods: int, version: str, address: str) -> Json:
    """The Node with room for so many pods; `address` is the machine's."""
    kernel = platform.release()
    room = {"pods": str(pods), "version": version, "address": address}
    found: Json = filled(_DATA["node"], kernel=kernel, now=moment(), **room)
    return found


def lease() -> Json:
    """The Lease that the agent renews."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    found: Json = filled(_DATA["lease"], now=now)
    return found


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The state of a pod's process; times are in the API server's format."""

    address: str
    host: str
    began: str
    started_at: str
    started: bool = False
    ready: bool = False
    restarts: int = 0


def status(pod: Json, seen: Seen) -> Json:
    """The status of a pod that runs."""
    conditions = [
        *(condition(kind, True, pod) for kind in ("PodScheduled", "Initialized")),
        *(condition(kind, seen.ready, pod) for kind in ("ContainersReady", "Ready")),
    ]
    container = pod["spec"]["containers"][0]
    found: Json = filled(_DATA["status"], seen=seen, container=container, conditions=conditions)
    return found


def condition(kind: str, holds: bool, pod: Json) -> Json:
    """A condition, with the time of its last change where that is known and it has not changed."""
    found = {"type": kind, "status": str(holds)}
    known = pod.get("status", {}).get("conditions", [])
    since = (c["lastTransitionTime"] for c in known if found.items() <= c.items())
    return found | {"lastTransitionTime": next(since, None) or moment()}
