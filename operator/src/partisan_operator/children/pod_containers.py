"""The containers that users add to the pods: from `spec.pods` to a pod's spec, and back.

Sidecars are init containers that Kubernetes restarts: it starts them before the node and ends them
after it, so that they also serve the node's handover.
"""

from collections.abc import Mapping
from typing import Any

from partisan_operator.children.child import Manifest
from partisan_operator.models.containers import InitContainer
from partisan_operator.models.pods import Pods

RESTRICTED: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""Security context of every container. The pod's has user, group and seccomp profile."""

_SIDECAR = {"restartPolicy": "Always"}


def init_containers(pods: Pods) -> Manifest:
    """Return the member `initContainers` of a pod's spec; nothing if there are none."""
    containers = [_container(entry) for entry in pods.init_containers] + [
        _container(entry) | _SIDECAR for entry in pods.sidecars
    ]
    return {"initContainers": containers} if containers else {}


def from_template(pod: Mapping[str, Any]) -> Manifest:
    """Return the fields of `spec.pods` that made a pod's spec."""
    present = [_given(entry) for entry in pod.get("initContainers") or ()]
    return {
        "initContainers": [entry for entry in present if not _is_sidecar(entry)],
        "sidecars": [entry for entry in present if _is_sidecar(entry)],
    }


def _container(container: InitContainer) -> Manifest:
    wire: Manifest = container.to_wire()
    given = wire["securityContext"]
    capabilities = RESTRICTED["capabilities"] | given.get("capabilities", {})
    security = {**RESTRICTED, **given, "capabilities": capabilities}
    return {key: value for key, value in wire.items() if value} | {"securityContext": security}


def _given(container: Mapping[str, Any]) -> Manifest:
    """Return a container without the parts of its security context that every container has."""
    security = {
        key: value
        for key, value in (container.get("securityContext") or {}).items()
        if RESTRICTED.get(key) != value
    }
    return {**container, "securityContext": security}


def _is_sidecar(container: Mapping[str, Any]) -> bool:
    return container.get("restartPolicy") == _SIDECAR["restartPolicy"]
