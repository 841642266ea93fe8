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

LEASES = "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 40


def node(*, pods: int, version: str, address: str) -> Json:
    """The Node with room for so many pods; `address` is the machine's."""
    found: Json = filled(
        data_of(__file__),
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


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The state of a pod's process; times are in the API server's format."""

    address: str
    host: str
    began: str
    started_at: str
    started: bool
    ready: bool
    restarts: int


def status(pod: Json, seen: Seen) -> Json:
    """The status of a pod that runs."""
    container = pod["spec"]["containers"][0]
    return {
        "phase": "Running",
        "hostIP": seen.host,
        "hostIPs": [{"ip": seen.host}],
        "podIP": seen.address,
        "podIPs": [{"ip": seen.address}],
        "startTime": seen.began,
        "conditions": [
            *(condition(kind, True, pod) for kind in ("PodScheduled", "Initialized")),
            *(condition(kind, seen.ready, pod) for kind in ("ContainersReady", "Ready")),
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": seen.ready,
                "started": seen.started,
                "restartCount": seen.restarts,
                "state": {"running": {"startedAt": seen.started_at}},
            }
        ],
    }


def condition(kind: str, holds: bool, pod: Json) -> Json:
    """A condition, with the time of its last change where that is known and it has not changed."""
    found = {"type": kind, "status": str(holds)}
    known = pod.get("status", {}).get("conditions", [])
    since = (c["lastTransitionTime"] for c in known if found.items() <= c.items())
    return found | {"lastTransitionTime": next(since, None) or moment()}
