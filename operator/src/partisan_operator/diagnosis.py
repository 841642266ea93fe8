"""Why a cluster is not well, in one sentence that says what to do.

Pods, events and errors each tell a piece. `explain` picks the cause that the others follow from:
a pod that cannot be created explains a node that has not joined, and not the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """What can be wrong; the first of these that applies is what the user reads."""

    INVALID_SPEC = "InvalidSpec"
    RECONCILE_FAILED = "ReconcileFailed"
    NAME_CONFLICT = "NameConflict"
    TOKEN_INVALID = "TokenInvalid"
    TOKEN_LOST = "TokenLost"
    TOKEN_MISMATCH = "TokenMismatch"
    BEARER_INVALID = "BearerInvalid"
    BEARER_REFUSED = "BearerRefused"
    SCALE_DOWN_REFUSED = "ScaleDownRefused"
    APPLY_FAILED = "ApplyFailed"
    CONFIGURATION_REFUSED = "ConfigurationRefused"
    QUOTA_EXCEEDED = "QuotaExceeded"
    POD_REJECTED = "PodRejected"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    CONTAINER_CONFIG_ERROR = "ContainerConfigError"
    TLS_SECRET_UNUSABLE = "TlsSecretUnusable"
    CERT_MANAGER_UNAVAILABLE = "CertManagerUnavailable"
    CERTIFICATE_NOT_ISSUED = "CertificateNotIssued"
    MACHINE_LOST = "MachineLost"
    CRASH_LOOPING = "CrashLooping"
    UNSCHEDULABLE = "Unschedulable"
    POD_NOT_STARTING = "PodNotStarting"
    NODE_NOT_JOINING = "NodeNotJoining"
    NODES_SILENT = "NodesSilent"
    OVERLAY_PARTITIONED = "OverlayPartitioned"
    POD_MONITOR_UNAVAILABLE = "PodMonitorUnavailable"


_RANK = {reason: rank for rank, reason in enumerate(Reason)}

_ADVICE = {
    Reason.QUOTA_EXCEEDED: "Raise the quota of the namespace or lower spec.replicas.",
    Reason.POD_REJECTED: "Change what the message names, in the spec or in the namespace's policy.",
    Reason.IMAGE_PULL_FAILED: "Check spec.image, spec.imagePullPolicy and spec.imagePullSecrets.",
    Reason.CONTAINER_CONFIG_ERROR: "Check that spec.image is an image of the Erlang node, and that"
    " the Secrets and ConfigMaps of spec.pods exist and have the keys.",
    Reason.TLS_SECRET_UNUSABLE: "Make it with tls.crt, tls.key and ca.crt: the name"
    " in spec.security.tls.secretName cannot change.",
    Reason.MACHINE_LOST: "Bring the machine back, or delete its Node object if it is gone for good:"
    " until then Kubernetes starts no successors of its pods.",
    Reason.CRASH_LOOPING: "Read the log: kubectl logs {pod} --previous.",
    Reason.UNSCHEDULABLE: "Free or add capacity, or change spec.resources and the scheduling"
    " fields.",
    Reason.POD_NOT_STARTING: "See kubectl describe pod {pod}.",
    Reason.NODE_NOT_JOINING: "Read the log: kubectl logs {pod}.",
}

# How long a state may last before it counts as trouble, in seconds: what every start passes
# through gets time, what never passes by itself gets none.
_PATIENCE = {
    Reason.UNSCHEDULABLE: 5.0,
    # Whoever writes the Secret may be at it.
    Reason.TLS_SECRET_UNUSABLE: 5.0,
    Reason.POD_NOT_STARTING: 45.0,
    Reason.NODE_NOT_JOINING: 90.0,
}
_PARTITION_PATIENCE = 20.0
_SILENCE_PATIENCE = 20.0
_CERTIFICATE_PATIENCE = 20.0

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
_MAX_DETAIL = 400


@dataclass(frozen=True)
class Problem:
    """What is wrong with a cluster."""

    reason: Reason
    message: str
    transient: bool = False
    """Whether it may pass by itself, and becomes a problem only when it does not."""


@dataclass(frozen=True)
class Trouble:
    """What is wrong with one pod."""

    pod: str
    reason: Reason
    detail: str


def trouble_of(pod: Mapping[str, Any]) -> Trouble | None:
    """Return what keeps a pod from being ready; None when it is ready or going away.

    A pod that is going away with a machine that nobody hears of will not go: that is trouble.
    """
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    conditions = {entry["type"]: entry for entry in status.get("conditions") or ()}
    if _machine_lost(conditions):
        machine = pod["spec"]["nodeName"]
        return Trouble(name, Reason.MACHINE_LOST, f"its machine {machine} is not heard of any more")
    if "deletionTimestamp" in pod["metadata"]:
        return None
    if conditions.get("Ready", {}).get("status") == "True":
        return None
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("reason") == "Unschedulable":
        return Trouble(name, Reason.UNSCHEDULABLE, scheduled.get("message", ""))
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason, message = waiting.get("reason", ""), waiting.get("message", "")
        if reason in _IMAGE_REASONS:
            return Trouble(name, Reason.IMAGE_PULL_FAILED, f"{reason}: {message}")
        if reason in _CONFIG_REASONS:
            return Trouble(name, Reason.CONTAINER_CONFIG_ERROR, f"{reason}: {message}")
        if reason == "CrashLoopBackOff":
            return Trouble(name, Reason.CRASH_LOOPING, _last_exit(container))
    if status.get("phase") == "Running":
        return Trouble(name, Reason.NODE_NOT_JOINING, "it runs and has not joined the overlay")
    return Trouble(name, Reason.POD_NOT_STARTING, "its container has not started")


def tls_secret_trouble(
    trouble: Trouble, name: str, keys: Iterable[str], secret: Mapping[str, Any] | None
) -> Trouble:
    """Return the trouble of a pod that does not start, with the cause if it is the TLS Secret.

    `name` and `keys` say which Secret its volume is made of, and of what in it.
    """
    if secret is None:
        detail = f"Secret {name}, which spec.security.tls names, does not exist"
    elif missing := [key for key in keys if key not in (secret.get("data") or {})]:
        detail = f"Secret {name}, which spec.security.tls names, has no {' and no '.join(missing)}"
    else:
        return trouble
    return Trouble(trouble.pod, Reason.TLS_SECRET_UNUSABLE, detail)


def creation_trouble(event: Mapping[str, Any]) -> Trouble | None:
    """Return what a StatefulSet's `FailedCreate` event says of a pod that is missing.

    None for an event in a form that this operator does not know.
    """
    # Create Pod ads-3 in StatefulSet ads failed error: pods "ads-3" is forbidden: ...
    match = re.search(
        r"[Cc]reate Pod (\S+) in StatefulSet \S+ failed error: (.*)", event["message"]
    )
    if match is None:
        return None
    quota = "exceeded quota" in match[2]
    return Trouble(match[1], Reason.QUOTA_EXCEEDED if quota else Reason.POD_REJECTED, match[2])


def explain(
    troubles: Sequence[Trouble],
    *,
    unready_pods: int,
    seeds: Iterable[str],
    lasted: Callable[[Trouble], float],
) -> Problem | None:
    """Return the problem that the pods' troubles amount to.

    `troubles` is a sample of the pods, `unready_pods` counts them all; `lasted` says for how many
    seconds a trouble has been there. None while what is seen may pass by itself.
    """
    due = [entry for entry in troubles if lasted(entry) >= _PATIENCE.get(entry.reason, 0.0)]
    if not due:
        return None
    seed_names = frozenset(seeds)
    # A seed first among equals: the others wait for it.
    first = min(due, key=lambda entry: (_RANK[entry.reason], entry.pod not in seed_names))
    seed = " (a seed that the others join through)" if first.pod in seed_names else ""
    others = f" {unready_pods} pods are not ready." if unready_pods > 1 else ""
    advice = _ADVICE[first.reason].format(pod=first.pod)
    detail = shortened(first.detail)
    return Problem(first.reason, f"Pod {first.pod}{seed}: {detail}.{others} {advice}")


def partition(components: int, nodes: int, seconds: float) -> Problem | None:
    """Return the problem that all nodes have joined and the overlay stays partitioned.

    `seconds` is the time for which both have been so.
    """
    if components <= 1 or seconds < _PARTITION_PATIENCE:
        return None
    return Problem(
        Reason.OVERLAY_PARTITIONED,
        f"All {nodes} nodes have joined, yet the overlay has been partitioned into {components}"
        f" components for at least {_PARTITION_PATIENCE:.0f} s. See whether the network lets pods"
        " of this cluster reach each other.",
    )


def silence(silent: Mapping[str, str], seconds: float) -> Problem | None:
    """Return the problem that pods are ready and do not tell the operator how they are.

    `silent` says why of each such pod; `seconds` is the time for which there have been such pods.
    """
    if not silent or seconds < _SILENCE_PATIENCE:
        return None
    pod, why = next(iter(silent.items()))
    return Problem(
        Reason.NODES_SILENT,
        f"{len(silent)} ready pods do not answer the operator's GET /status, {pod} for this"
        f" reason: {shortened(why)}. See whether the operator reaches port 8080 of the pods, and"
        f" read the log: kubectl logs {pod}.",
    )


def not_issued(waiting: str, seconds: float) -> Problem | None:
    """Return the problem that the Secret with the nodes' certificate is not there.

    `waiting` says what it waits for, empty: it is there; `seconds` is for how long it has waited.
    """
    if not waiting or seconds < _CERTIFICATE_PATIENCE:
        return None
    return Problem(
        Reason.CERTIFICATE_NOT_ISSUED,
        f"The pods' Secret with their certificate is missing: {waiting}.",
    )


def name_conflict(kind: str, name: str) -> Problem:
    """Return the problem that an object with the name of a child is not the cluster's."""
    return Problem(
        Reason.NAME_CONFLICT,
        f"{kind} {name} exists and does not belong to this cluster. Delete it or give this"
        " PartisanCluster another name.",
    )


def invalid_token(name: str) -> Problem:
    """Return the problem that the Secret with the token holds none."""
    return Problem(
        Reason.TOKEN_INVALID,
        f"Secret {name} holds no token of 64 hexadecimal digits under the key token. Delete it,"
        " and all pods with it, for a new one to be made.",
    )


def invalid_bearer(name: str) -> Problem:
    """Return the problem that the Secret with the bearer holds none."""
    return Problem(
        Reason.BEARER_INVALID,
        f"Secret {name} holds no bearer of 64 hexadecimal digits under the key bearer. Delete it"
        " for a new one to be made; no pod is replaced for it.",
    )


def orders_refused(refusals: Sequence[str], *, unauthorized: bool, bearer: bool) -> Problem:
    """Return the problem that nodes refuse orders, in their own words.

    `unauthorized` says that what the orders showed is the reason; `bearer`, whether that was the
    bearer or, to pods of an earlier operator, the token.
    """
    nodes = f"{len(refusals)} nodes do not take the configuration, such as {shortened(refusals[0])}"
    if not unauthorized:
        return Problem(Reason.CONFIGURATION_REFUSED, f"{nodes}.")
    if bearer:
        return Problem(
            Reason.BEARER_REFUSED,
            f"{nodes}. A new bearer reaches running nodes within two minutes, and the order is"
            " repeated. Where this lasts, spec.image is older than the operator: change it.",
        )
    return Problem(
        Reason.TOKEN_MISMATCH,
        f"{nodes}. They run with another token than the Secret holds, so no new pod can join them."
        " Restore the Secret from a backup, or delete all pods, which loses what only the nodes"
        " know.",
    )


def token_lost(name: str, cluster: str) -> Problem:
    """Return the problem that the token is gone while pods run with it."""
    return Problem(
        Reason.TOKEN_LOST,
        f"Secret {name} was deleted. The nodes that run go on, but no pod can start, and no other"
        " token is made, since pods with it would not connect to the running ones. Restore the"
        f" Secret from a backup, or delete all pods for a new token: kubectl delete pod -l"
        f" partisan.dev/cluster={cluster}. That loses what only the nodes know.",
    )


def apply_failure(request: str, message: str, *, transient: bool) -> Problem:
    """Return the problem that the API server did not do what was requested for a cluster."""
    return Problem(
        Reason.APPLY_FAILED,
        f"The API server refused to {request}: {shortened(message)}. Change the part of the spec"
        " that it names, or the operator's rights. The operator tries again with growing pauses.",
        transient,
    )


def reconcile_failure(request: str, message: str, *, transient: bool) -> Problem:
    """Return the problem that the operator could not find out how a cluster is."""
    asked = f" ({request})" if request else ""
    return Problem(
        Reason.RECONCILE_FAILED,
        f"The operator cannot reconcile this cluster: {shortened(message)}{asked}. It tries again"
        " with growing pauses.",
        transient,
    )


def operator_fault(error: Exception) -> Problem:
    """Return the problem that the operator itself is wrong."""
    return Problem(
        Reason.RECONCILE_FAILED,
        f"The operator cannot reconcile this cluster: {type(error).__name__}:"
        f" {shortened(str(error))}. This is a fault of the operator: its log has the details. It"
        " tries again with growing pauses.",
    )


def invalid_spec(message: str) -> Problem:
    """Return the problem that the operator cannot read the spec."""
    return Problem(
        Reason.INVALID_SPEC,
        f"This version of the operator cannot read the spec: {shortened(message)}. Install the"
        " operator and the CustomResourceDefinition of the same release.",
    )


def shortened(text: str) -> str:
    """Return text on one line, of bounded length, without a full stop."""
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _MAX_DETAIL else f"{line[: _MAX_DETAIL - 3]}..."


def _machine_lost(conditions: Mapping[str, Mapping[str, Any]]) -> bool:
    """Say whether a pod is not ready only because Kubernetes has given up on its machine.

    A kubelet that works takes both conditions back together. Where it is the node controller that
    takes back one, in its stead, the other stays as the kubelet last left it.
    """
    told = [conditions.get(kind, {}).get("status") for kind in ("ContainersReady", "Ready")]
    return told == ["True", "False"]


def _last_exit(container: Mapping[str, Any]) -> str:
    ended = (container.get("lastState") or {}).get("terminated") or {}
    count = container.get("restartCount", 0)
    cause = ended.get("message") or ended.get("reason") or "unknown reason"
    return f"it crashed {count} times, last with exit code {ended.get('exitCode')} ({cause})"
