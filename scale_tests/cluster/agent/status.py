"""The status of a pod, as the agent reports it."""

from __future__ import annotations

from dataclasses import dataclass

from scale_tests.cluster.kube import Json, moment


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
            condition("PodScheduled", True, pod),
            condition("Initialized", True, pod),
            condition("ContainersReady", seen.ready, pod),
            condition("Ready", seen.ready, pod),
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
    value = "True" if holds else "False"
    for known in pod.get("status", {}).get("conditions", []):
        if known["type"] == kind and known["status"] == value:
            return {
                "type": kind,
                "status": value,
                "lastTransitionTime": known["lastTransitionTime"],
            }
    return {"type": kind, "status": value, "lastTransitionTime": moment()}
