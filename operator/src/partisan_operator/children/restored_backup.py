"""The backup that the nodes start from: a volume with one file, and its mount."""

from collections.abc import Iterable, Mapping
from typing import Any

from partisan_operator.children.child import Manifest
from partisan_operator.models import PartisanClusterSpec
from partisan_operator.models.restore import BACKUP_KEY
from partisan_operator.models.volumes import OWN_VOLUMES_PREFIX

_VOLUME = f"{OWN_VOLUMES_PREFIX}restore"
_DIRECTORY = "/etc/partisan/restore"


def volumes(spec: PartisanClusterSpec) -> list[Manifest]:
    """Return the pod's volume with the file; none without `restore`.

    It lists the key, so that Kubernetes starts no pod without the file, which would count anew.
    """
    if spec.restore is None:
        return []
    items = [{"key": BACKUP_KEY, "path": BACKUP_KEY}]
    if spec.restore.secret is not None:
        secret = {"secretName": spec.restore.secret, "defaultMode": 0o440, "items": items}
        return [{"name": _VOLUME, "secret": secret}]
    config_map = {"name": spec.restore.config_map, "defaultMode": 0o444, "items": items}
    return [{"name": _VOLUME, "configMap": config_map}]


def mounts(spec: PartisanClusterSpec) -> list[Manifest]:
    """Return the container's mount of the volume; none without `restore`."""
    if spec.restore is None:
        return []
    return [{"name": _VOLUME, "mountPath": _DIRECTORY, "readOnly": True}]


def from_template(volumes: Iterable[Mapping[str, Any]]) -> Manifest | None:
    """Return the `restore` that made one of a pod's volumes; None if it had none."""
    for volume in volumes:
        if volume["name"] == _VOLUME and "secret" in volume:
            return {"secret": volume["secret"]["secretName"]}
        if volume["name"] == _VOLUME:
            return {"configMap": volume["configMap"]["name"]}
    return None
