"""The volumes and files that users add to the pods: from `spec.pods` to a pod's spec, and back."""

from collections.abc import Iterable, Mapping
from typing import Any

from partisan_operator.children.child import Manifest, digest
from partisan_operator.children.claims import STATE_PATH
from partisan_operator.models.pods import Pods
from partisan_operator.models.volumes import OWN_VOLUMES_PREFIX, ConfigFiles, VolumeMount, is_own

_FILES = f"{OWN_VOLUMES_PREFIX}files-"
"""Prefix of the volumes of `configFiles`."""


def volumes(pods: Pods) -> list[Manifest]:
    """Return the volumes, those of `configFiles` last."""
    return [volume.to_wire() for volume in pods.volumes] + [
        {"name": _volume_of(files), "configMap": _config_map(files)} for files in pods.config_files
    ]


def node_mounts(pods: Pods) -> list[Manifest]:
    """Return the mounts of the node's container."""
    return mounts(pods.volume_mounts) + [
        {"name": _volume_of(files), "mountPath": files.mount_path, "readOnly": True}
        for files in pods.config_files
    ]


def mounts(given: Iterable[VolumeMount]) -> list[Manifest]:
    """Return the mounts of a container."""
    return [mount.to_wire() for mount in given]


def from_template(pod: Mapping[str, Any], node: Mapping[str, Any]) -> Manifest:
    """Return the fields of `spec.pods` that made a pod's spec, whose node's container is `node`."""
    present = pod.get("volumes") or ()
    files = {entry["name"]: entry for entry in present if entry["name"].startswith(_FILES)}
    mounted = node.get("volumeMounts") or ()
    return {
        "volumes": [entry for entry in present if not is_own(entry["name"])],
        # Those of claims too, whose volumes no template has.
        "volumeMounts": [
            mount
            for mount in mounted
            if not is_own(mount["name"]) and mount["mountPath"] != STATE_PATH
        ],
        "configFiles": [
            {
                **files[mount["name"]]["configMap"],
                "configMap": files[mount["name"]]["configMap"]["name"],
                "mountPath": mount["mountPath"],
            }
            for mount in mounted
            if mount["name"] in files
        ],
    }


def _volume_of(files: ConfigFiles) -> str:
    # By the path, which is unique: the name of a ConfigMap may be too long for a volume, and a
    # number would change with the order.
    return f"{_FILES}{digest(files.mount_path)[:10]}"


def _config_map(files: ConfigFiles) -> Manifest:
    wire: Manifest = files.to_wire()
    fields = {key: wire[key] for key in wire if key in ("items", "optional")}
    return {"name": files.config_map, "defaultMode": 0o444, **fields}
