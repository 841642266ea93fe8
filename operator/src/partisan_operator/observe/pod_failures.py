"""Why a pod is not ready, read from the pod, its Secret and the events of its StatefulSet."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from partisan_operator.models.clock import parse
from partisan_operator.models.containers import OWN_CONTAINER
from partisan_operator.models.problem import Reason

_REFUSED_BACKUP = "configuration: restore: "
"""Prefix of the last line of a node that cannot start from its backup."""

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


_MOUNT_REASONS = frozenset({"FailedMount", "FailedAttachVolume"})

_GATED = "ReadinessGatesNotReady"
"""The kubelet's reason of a pod that waits for conditions that other controllers set, such as one
of a load balancer."""

PREPARATION = 30.0
"""Seconds for which a pod may prepare its volumes and network before its events are read."""


@dataclass(frozen=True)
class PodFailure:
    """The reason why one pod is not ready."""

    pod: str
    reason: Reason
    detail: str
    container: str = OWN_CONTAINER
    """The container with the failure."""

    @property
    def log(self) -> str:
        """The arguments by which `kubectl logs` shows the container's log."""
        return self.pod if self.container == OWN_CONTAINER else f"{self.pod} -c {self.container}"


def failure_of(pod: Mapping[str, Any]) -> PodFailure | None:
    """Return why a pod is not ready; None if it is ready or terminating.

    A pod that terminates on a lost Kubernetes node never ends; that counts as a failure.
    """
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    conditions = {entry["type"]: entry for entry in status.get("conditions") or ()}
    ready = conditions.get("Ready", {})
    gated = ready.get("reason") == _GATED
    if not gated and _node_lost(conditions):
        node = pod["spec"]["nodeName"]
        return PodFailure(
            name, Reason.MACHINE_LOST, f"its Kubernetes node {node} sends no heartbeats"
        )
    if "deletionTimestamp" in pod["metadata"]:
        return None
    if ready.get("status") == "True":
        return None
    if gated:
        detail = f"its containers are ready, and {ready.get('message')}"
        return PodFailure(name, Reason.POD_NOT_STARTING, detail)
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("reason") == "Unschedulable":
        return PodFailure(name, Reason.UNSCHEDULABLE, scheduled.get("message", ""))
    before, own = status.get("initContainerStatuses") or (), status.get("containerStatuses") or ()
    for container in (*before, *own):
        if failure := _container_failure(name, container):
            return failure
    readiness = {entry["name"]: entry.get("ready") for entry in (*before, *own)}
    if readiness.pop(OWN_CONTAINER, False):
        waits = ", ".join(container for container in readiness if not readiness[container])
        if waits:
            detail = f"its node is ready, and its container {waits} is not"
            return PodFailure(name, Reason.POD_NOT_STARTING, detail)
    if status.get("phase") == "Running":
        return PodFailure(name, Reason.NODE_NOT_JOINING, "it runs and has not joined the overlay")
    return PodFailure(name, Reason.POD_NOT_STARTING, "its container has not started")


def _container_failure(pod: str, container: Mapping[str, Any]) -> PodFailure | None:
    """Return why a container waits to start, from its status; None if it does not."""
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason, detail = waiting.get("reason", ""), f"{waiting.get('reason')}: {waiting.get('message')}"
    if reason in _IMAGE_REASONS:
        found = Reason.IMAGE_PULL_FAILED
    elif reason in _CONFIG_REASONS:
        found = Reason.CONTAINER_CONFIG_ERROR
    elif reason == "CrashLoopBackOff":
        found, detail = Reason.CRASH_LOOPING, _last_exit(container)
        if (line := _last_line(container)).startswith(_REFUSED_BACKUP):
            found, detail = Reason.BACKUP_REFUSED, line.removeprefix(_REFUSED_BACKUP)
    else:
        return None
    name = container["name"]
    own = name == OWN_CONTAINER
    return PodFailure(pod, found, detail if own else f"container {name}: {detail}", name)


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


def is_stuck(pod: Mapping[str, Any], now: datetime) -> bool:
    """Whether a pod has had a Kubernetes node for long, and no container of it has started."""
    status = pod.get("status") or {}
    since = next(
        (
            entry.get("lastTransitionTime")
            for entry in status.get("conditions") or ()
            if entry["type"] == "PodScheduled" and entry["status"] == "True"
        ),
        None,
    )
    if status.get("phase") != "Pending" or since is None:
        return False
    return (now - parse(since)).total_seconds() >= PREPARATION


def mount_failure(failure: PodFailure, events: Iterable[Mapping[str, Any]]) -> PodFailure:
    """Return the failure of a pod that does not start, or a volume as its cause.

    `events` are the pod's; the last one counts.
    """
    found = [event for event in events if event.get("reason") in _MOUNT_REASONS]
    if failure.reason is not Reason.POD_NOT_STARTING or not found:
        return failure
    last = max(found, key=lambda event: event.get("lastTimestamp") or "")
    return PodFailure(failure.pod, Reason.MOUNT_FAILED, last.get("message") or "")


def creation_failure(event: Mapping[str, Any]) -> PodFailure | None:
    """Return why a pod is missing, from its StatefulSet's `FailedCreate` event.

    None for an event in an unknown form.
    """
    # Create Pod ads-3 in StatefulSet ads failed error: pods "ads-3" is forbidden: ...
    match = re.search(
        r"[Cc]reate Pod (\S+) in StatefulSet \S+ failed error: (.*)", event.get("message") or ""
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


def _last_line(container: Mapping[str, Any]) -> str:
    """Return what the container wrote to its termination log; empty if nothing."""
    return str(_ended(container).get("message") or "")


def _last_exit(container: Mapping[str, Any]) -> str:
    ended = _ended(container)
    count = container.get("restartCount", 0)
    cause = ended.get("message") or ended.get("reason") or "unknown reason"
    return f"it crashed {count} times, last with exit code {ended.get('exitCode')} ({cause})"


def _ended(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how the container last ended; empty if it has not."""
    found: Mapping[str, Any] = (container.get("lastState") or {}).get("terminated") or {}
    return found
