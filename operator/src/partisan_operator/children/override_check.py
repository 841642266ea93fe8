"""Limits of `spec.pods.override`, which the API server does not know.

It checks whether the result is a pod at all, by a dry run of the StatefulSet.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from partisan_operator.children.child import Manifest
from partisan_operator.children.override import KEYS, merged
from partisan_operator.models.containers import OWN_CONTAINER
from partisan_operator.models.pods import Pods
from partisan_operator.models.variables import RESERVED_VARIABLES, SYSTEM_VARIABLES
from partisan_operator.models.volumes import OWN_PATHS, is_own

_OPEN = ("enableServiceLinks", "securityContext")
"""Fields that the operator sets, and that a patch may change. What `restricted` forbids is refused
afterwards."""

_WHOLE = ("volumeMounts", "volumes")
"""Lists to whose entries a patch may not even add fields: `subPath` would move a node's state, and
`items` hide its files."""

_ACCOUNT = "use spec.pods.serviceAccountName"
_ELSEWHERE_IN_POD = {"serviceAccount": _ACCOUNT, "serviceAccountName": _ACCOUNT}
"""Fields of the pod that a patch may not even add: the API server copies one of these to the other,
and the copy would stay when the patch is removed."""

_ELSEWHERE = {
    "args": "use spec.pods.emulatorArguments",
    "command": "the entry point is that of the image",
}
"""Fields of the node's container that a patch may not even add."""

_ACTION: Mapping[str, Any] = {"httpGet": {}, "tcpSocket": {}}
_CONTEXT = {
    "appArmorProfile": {},
    "capabilities": {"add": [""], "drop": [""]},
    "seLinuxOptions": {},
    "seccompProfile": {},
    "sysctls": [{"name": ""}],
    "windowsOptions": {},
}
_CONTAINER = {
    "name": "",
    "env": [{"name": ""}],
    "lifecycle": {"postStart": _ACTION, "preStop": _ACTION},
    "livenessProbe": _ACTION,
    "ports": [{}],
    "readinessProbe": _ACTION,
    "securityContext": _CONTEXT,
    "startupProbe": _ACTION,
    "volumeMounts": [{"name": "", "mountPath": ""}],
}
_POD: Mapping[str, Any] = {
    "containers": [_CONTAINER],
    "ephemeralContainers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "securityContext": _CONTEXT,
    "volumes": [{"name": ""}],
}
"""The form of what these rules and `restricted` read, by an example: texts are required."""


def applied(pods: Pods, own: Manifest) -> Manifest:
    """Return a pod's spec with the patch, if there is one and nothing of it is refused.

    No pods are made while something is.
    """
    if pods.override is None or refusals(pods, own):
        return own
    found: Manifest = merged(own, pods.override.spec)
    return found


def refusals(pods: Pods, own: Manifest) -> tuple[str, ...]:
    """Return what is refused of the patch, if there is one.

    `own` is the pod's spec without the patch.
    """
    if pods.override is None:
        return ()
    found = merged(own, pods.override.spec)
    # Each of these rules relies on those before it.
    if misshapen := tuple(_misshapen(found, _POD, "spec")):
        return misshapen
    if changed := tuple(_changed(own, found, "spec")):
        return changed
    return (
        *_of_pod(own, found),
        *_of_node(own["containers"][0], found["containers"][0]),
        *_of_others(found, pods.state_claim),
    )


def _misshapen(value: Any, form: Any, path: str) -> Iterator[str]:
    if isinstance(form, Mapping):
        if not isinstance(value, Mapping):
            yield f"{path} must be an object"
            return
        for key, inner in form.items():
            if value.get(key) is not None or inner == "":
                yield from _misshapen(value.get(key), inner, f"{path}.{key}")
    elif isinstance(form, list):
        if not isinstance(value, list):
            yield f"{path} must be a list"
            return
        for index, entry in enumerate(value):
            yield from _misshapen(entry, form[0], f"{path}[{index}]")
    elif not isinstance(value, str) or not value:
        yield f"{path} must be a text"


def _changed(own: Any, found: Any, path: str, field: str = "") -> Iterator[str]:
    """Yield the fields that the patch changes although the operator, or the spec, sets them."""
    if field in _OPEN:
        return
    if isinstance(own, Mapping) and isinstance(found, Mapping):
        for key, value in own.items():
            yield from _changed(value, found.get(key), f"{path}.{key}", key)
    elif field in KEYS and isinstance(own, list) and isinstance(found, list):
        for entry in own:
            name = entry[KEYS[field]]
            same = (each for each in found if isinstance(each, Mapping))
            now = next((each for each in same if each.get(KEYS[field]) == name), None)
            if field not in _WHOLE:
                yield from _changed(entry, now, f"{path}[{name}]")
            elif entry != now:
                yield _set_already(f"{path}[{name}]")
    elif own != found:
        yield _set_already(path)


def _set_already(path: str) -> str:
    return f"{path} cannot change: the operator or another field of the spec sets it"


def _of_pod(own: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the patch adds to the pod and may not."""
    yield from _elsewhere(own, found, "spec", _ELSEWHERE_IN_POD)
    # Containers of one user read each other's files under /proc then, and so the node's token.
    if found.get("shareProcessNamespace"):
        yield "spec.shareProcessNamespace cannot be true: the node's secrets are its alone"


def _elsewhere(
    own: Mapping[str, Any], found: Mapping[str, Any], path: str, fields: Mapping[str, str]
) -> Iterator[str]:
    """Yield the fields that the patch adds; `fields` says what to do instead."""
    for field, advice in fields.items():
        if field in found and field not in own:
            yield f"{path}.{field} cannot be set: {advice}"


def _of_node(own: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the patch adds to the node's container and may not."""
    path = f"spec.containers[{OWN_CONTAINER}]"
    yield from _elsewhere(own, found, path, _ELSEWHERE)
    given = {entry["name"]: entry for entry in own["env"]}
    for entry in found["env"]:
        name = entry["name"]
        reserved = name in SYSTEM_VARIABLES or name.startswith(RESERVED_VARIABLES)
        if given[name] != entry if name in given else reserved:
            yield f"{path}.env[{name}] is set already, or configures the node: use another name"
    mounted = {entry["mountPath"] for entry in own["volumeMounts"]}
    for mount in (entry["mountPath"] for entry in found["volumeMounts"]):
        if mount not in mounted and any(_overlap(mount, reserved) for reserved in OWN_PATHS):
            yield f"{path}.volumeMounts[{mount}] hides a path of the runtime: use another one"


def _of_others(found: Mapping[str, Any], state_claim: str) -> Iterator[str]:
    """Yield further main containers, and mounts of the operator's volumes in other containers."""
    for container in found["containers"][1:]:
        yield f"spec.containers[{container['name']}]: add it to spec.pods.sidecars"
    for container in found.get("initContainers") or ():
        for mount in container.get("volumeMounts") or ():
            name = mount["name"]
            if is_own(name) or name == state_claim:
                yield (
                    f"spec.initContainers[{container['name']}].volumeMounts: {name} is the node's"
                    " alone"
                )


def _overlap(one: str, other: str) -> bool:
    """Whether paths are equal, or one is within the other."""
    first, second = (f"{path.rstrip('/')}/" for path in (one, other))
    return first.startswith(second) or second.startswith(first)
