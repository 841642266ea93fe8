"""Why a cluster is degraded, in one sentence with the remedy.

Pods, events and errors each show a part. `explain` picks the cause of the others: a pod that cannot
be created explains a node that has not joined, not the other way round.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from partisan_operator.models.containers import OWN_CONTAINER
from partisan_operator.models.problem import Problem, Reason, shortened
from partisan_operator.observe.pod_failures import PodFailure

_RANK = {reason: rank for rank, reason in enumerate(Reason)}

_ADVICE = {
    Reason.QUOTA_EXCEEDED: "Raise the quota of the namespace or lower spec.replicas.",
    Reason.POD_REJECTED: "Change what the message names, in the spec or in the namespace's policy.",
    Reason.IMAGE_PULL_FAILED: "Check spec.image, spec.imagePullPolicy and spec.imagePullSecrets.",
    Reason.CONTAINER_CONFIG_ERROR: "Check that spec.image is an image of the Erlang node, and that"
    " the Secrets and ConfigMaps of spec.pods exist and have the keys.",
    Reason.MOUNT_FAILED: "Create or repair what the message names, or change spec.pods or"
    " spec.restore. The pod starts within two minutes after that.",
    Reason.TLS_SECRET_UNUSABLE: "Make it with tls.crt, tls.key and ca.crt: the name"
    " in spec.security.tls.secretName cannot change.",
    Reason.MACHINE_LOST: "Bring the node back, or delete its Node object if it is gone for good:"
    " until then Kubernetes does not replace its pods.",
    Reason.BACKUP_REFUSED: "The log has the whole line: kubectl logs {log} --previous.",
    Reason.CRASH_LOOPING: "Read the log: kubectl logs {log} --previous.",
    Reason.UNSCHEDULABLE: "Free or add capacity, or change spec.resources and the scheduling"
    " fields.",
    Reason.POD_NOT_STARTING: "See kubectl describe pod {pod}.",
    Reason.NODE_NOT_JOINING: "Read the log: kubectl logs {log}.",
}

_ADVICE_FOR_OTHERS = {
    Reason.IMAGE_PULL_FAILED: "Check its image in spec.pods, and spec.imagePullSecrets.",
    Reason.CONTAINER_CONFIG_ERROR: "Check what spec.pods has of it, and that the Secrets and"
    " ConfigMaps exist and have the keys.",
}
"""For containers of `spec.pods`."""

# Seconds that a state may last before it is reported. States of every normal start get time, those
# that never resolve themselves get none.
_TOLERATED = {
    Reason.UNSCHEDULABLE: 5.0,
    # It may be about to be written.
    Reason.TLS_SECRET_UNUSABLE: 5.0,
    Reason.POD_NOT_STARTING: 45.0,
    Reason.NODE_NOT_JOINING: 90.0,
}
_PARTITION_TOLERATED = 20.0
_SILENCE_TOLERATED = 20.0
_CERTIFICATE_TOLERATED = 20.0


def explain(
    failures: Sequence[PodFailure],
    *,
    unready_pods: int,
    seeds: Iterable[str],
    lasted: Callable[[PodFailure], float],
) -> Problem | None:
    """Return the problem behind the failures of pods; None while they may pass by themselves.

    `failures` are those of a sample, `unready_pods` counts all pods that are not ready; `lasted`
    returns for how many seconds a failure has lasted.
    """
    due = [entry for entry in failures if lasted(entry) >= _TOLERATED.get(entry.reason, 0.0)]
    if not due:
        return None
    seed_names = frozenset(seeds)
    # Of equal causes that of a seed: the others wait for it.
    first = min(due, key=lambda entry: (_RANK[entry.reason], entry.pod not in seed_names))
    seed = " (a seed that the others join through)" if first.pod in seed_names else ""
    others = f" {unready_pods} pods are not ready." if unready_pods > 1 else ""
    advice = _advice(first).format(pod=first.pod, log=first.log)
    detail = shortened(first.detail)
    return Problem(first.reason, f"Pod {first.pod}{seed}: {detail}.{others} {advice}")


def _advice(failure: PodFailure) -> str:
    if failure.container == OWN_CONTAINER:
        return _ADVICE[failure.reason]
    return _ADVICE_FOR_OTHERS.get(failure.reason, _ADVICE[failure.reason])


def partition(components: int, nodes: int, seconds: float) -> Problem | None:
    """Return the problem of an overlay that stays partitioned although all nodes have joined.

    `seconds` is how long both have been true.
    """
    if components <= 1 or seconds < _PARTITION_TOLERATED:
        return None
    return Problem(
        Reason.OVERLAY_PARTITIONED,
        f"All {nodes} nodes have joined, yet the overlay has been partitioned into {components}"
        f" components for at least {_PARTITION_TOLERATED:.0f} s. See whether the network lets pods"
        " of this cluster reach each other.",
    )


def silence(silent: Mapping[str, str], seconds: float) -> Problem | None:
    """Return the problem of pods that are ready and do not answer the operator.

    `silent` maps each such pod to the reason; `seconds` is how long there have been any.
    """
    if not silent or seconds < _SILENCE_TOLERATED:
        return None
    pod, why = next(iter(silent.items()))
    return Problem(
        Reason.NODES_SILENT,
        f"{len(silent)} ready pods do not answer the operator's GET /status, {pod} for this"
        f" reason: {shortened(why)}. See whether the operator reaches port 8080 of the pods, and"
        f" read the log: kubectl logs {pod}.",
    )


def not_issued(waiting: str, seconds: float) -> Problem | None:
    """Return the problem of a missing Secret with the nodes' certificate.

    `waiting` is why it is missing, empty if it exists; `seconds` is for how long.
    """
    if not waiting or seconds < _CERTIFICATE_TOLERATED:
        return None
    return Problem(
        Reason.CERTIFICATE_NOT_ISSUED,
        f"The pods' Secret with their certificate is missing: {waiting}.",
    )
