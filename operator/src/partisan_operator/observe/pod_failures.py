"""Why a pod is not ready, read from the pod, its Secret and the events of its StatefulSet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from partisan_operator.models.problem import Reason

_IMAGE_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
    }
)
_CONFIG_REASONS = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)


@dataclass(frozen=True)
class PodFailure:
    """The reason why one pod is not ready."""

    pod: str
    reason: Reason
    detail: str


def failure_of(pod: Mapping[str, Any]) -> PodFailure | None:
    """Return why a pod is not ready; None if it is ready or terminating.

    A pod that terminates on a lost Kubernetes node never ends; that counts as a failure.
    """
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    conditions = {entry["type"]: entry for entry in status.get("conditions") or ()}
    if _node_lost(conditions):
        node = pod["spec"]["nodeName"]
        return PodFailure(
            name, Reason.MACHINE_LOST, f"its Kubernetes node {node} sends no heartbeats"
        )
    if "deletionTimestamp" in pod["metadata"]:
        return None
    if conditions.get("Ready", {}).get("status") == "True":
        return None
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("reason") == "Unschedulable":
        return PodFailure(name, Reason.UNSCHEDULABLE, scheduled.get("message", ""))
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason, message = waiting.get("reason", ""), waiting.get("message", "")
        if reason in _IMAGE_REASONS:
            return PodFailure(name, Reason.IMAGE_PULL_FAILED, f"{reason}: {message}")
        if reason in _CONFIG_REASONS:
            return PodFailure(name, Reason.CONTAINER_CONFIG_ERROR, f"{reason}: {message}")
        if reason == "CrashLoopBackOff":
            return PodFailure(name, Reason.CRASH_LOOPING, _last_exit(container))
    if status.get("phase") == "Running":
        return PodFailure(name, Reason.NODE_NOT_JOINING, "it runs and has not joined the overlay")
    return PodFailure(name, Reason.POD_NOT_STARTING, "its container has not started")


def tls_secret_failure(
    failure: PodFailure, name: str, keys: Iterable[str], secret: Mapping[str, Any] | None
) -> PodFailure:
    """Return the failure of a pod that does not start, or the TLS Secret as its cause.

    Its volume is made from the Secret `name` and the `keys` in it.
    """
    if secret is None:
        detail = f"Secret {name}, which spec.security.tls names, does not exist"
    elif missing := [key for key in keys if key not in (secret.get("data") or {})]:
        detail = f"Secret {name}, which spec.security.tls names, has no {' and no '.join(missing)}"
    else:
        return failure
    return PodFailure(failure.pod, Reason.TLS_SECRET_UNUSABLE, detail)


def creation_failure(event: Mapping[str, Any]) -> PodFailure | None:
    """Return why a pod is missing, from its StatefulSet's `FailedCreate` event.

    None for an event in an unknown form.
    """
    # Create Pod ads-3 in StatefulSet ads failed error: pods "ads-3" is forbidden: ...
    match = re.search(
        r"[Cc]reate Pod (\S+) in StatefulSet \S+ failed error: (.*)", event["message"]
    )
    if match is None:
        return None
    quota = "exceeded quota" in match[2]
    return PodFailure(match[1], Reason.QUOTA_EXCEEDED if quota else Reason.POD_REJECTED, match[2])


def _node_lost(conditions: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a pod is not ready only because its Kubernetes node is lost.

    A working kubelet resets both conditions together. If the node controller resets one in its
    place, the other stays as the kubelet last set it.
    """
    found = [conditions.get(kind, {}).get("status") for kind in ("ContainersReady", "Ready")]
    return found == ["True", "False"]


def _last_exit(container: Mapping[str, Any]) -> str:
    ended = (container.get("lastState") or {}).get("terminated") or {}
    count = container.get("restartCount", 0)
    cause = ended.get("message") or ended.get("reason") or "unknown reason"
    return f"it crashed {count} times, last with exit code {ended.get('exitCode')} ({cause})"
