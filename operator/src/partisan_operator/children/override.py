"""The last step of a pod's spec: the merge of `spec.pods.override`.

As a strategic merge patch of Kubernetes, without deletions.
"""

from collections.abc import Mapping
from typing import Any

from partisan_operator.children.child import digest
from partisan_operator.models.pods import Pods

ANNOTATION = "partisan.dev/override"
"""On the template: a hash of the patch. Its fields cannot be distinguished from others there."""

KEYS: Mapping[str, str] = {
    "containers": "name",
    "env": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "resourceClaims": "name",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""The key by which entries of a list merge. Other lists are replaced as a whole, also those whose
key is not unique in a pod: `ports`, `topologySpreadConstraints`."""


def merged(value: Any, patch: Any, field: str = "") -> Any:
    """Return the value of a field after a patch. The type of neither is known.

    >>> merged({"a": 1, "volumes": [{"name": "x"}]}, {"volumes": [{"name": "y"}]})
    {'a': 1, 'volumes': [{'name': 'x'}, {'name': 'y'}]}
    """
    if isinstance(value, Mapping) and isinstance(patch, Mapping):
        return {**value, **{key: merged(value.get(key), patch[key], key) for key in patch}}
    if field in KEYS and isinstance(value, list) and isinstance(patch, list):
        return _merged_list(value, patch, KEYS[field])
    return patch


def pod_annotations(pods: Pods) -> dict[str, str]:
    """Return the annotation of pods with a patch."""
    return {} if pods.override is None else {ANNOTATION: digest(pods.override.spec)}


def _merged_list(entries: list[Any], patch: list[Any], key: str) -> list[Any]:
    found = list(entries)
    for change in patch:
        name = change.get(key) if isinstance(change, Mapping) else None
        for place, entry in enumerate(found):
            if name is not None and isinstance(entry, Mapping) and entry.get(key) == name:
                found[place] = merged(entry, change)
                break
        else:
            found.append(change)
    return found
