"""`rollout undo NAME`: the pods' template as before its last change.

Kubernetes keeps the previous templates of a StatefulSet as ControllerRevisions. Fields that the
template copies from the spec can be restored from there. The workload and the channels cannot:
nodes read them from the ConfigMap, of which the template has only a hash.
"""

import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from partisan_operator.children import (
    app_service,
    naming,
    node_process,
    override,
    pod_containers,
    pod_settings,
    pod_volumes,
    restored_backup,
)
from partisan_operator.children.child import owned_by
from partisan_operator.children.pod import CONFIG_HASH_ANNOTATION
from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import Json, KubectlError
from partisan_operator.models.pods import OWN_LABELS, OWN_PREFIX, Pods
from partisan_operator.models.variables import OWN_VARIABLES

_APPS = "apis/apps/v1/namespaces"

_Template = Mapping[str, Any]


def _of_pod(field: str, absent: Any) -> Callable[[_Template], Any]:
    return lambda template: template["spec"].get(field, absent)


def _of_container(field: str) -> Callable[[_Template], Any]:
    return lambda template: template["spec"]["containers"][0].get(field)


def _pods(template: _Template) -> dict[str, Any]:
    """Return `spec.pods`: the template's entries without the operator's own."""
    metadata, container = template["metadata"], template["spec"]["containers"][0]
    found = {
        "labels": _foreign(metadata.get("labels") or {}),
        "annotations": _foreign(metadata.get("annotations") or {}),
        "env": [
            entry for entry in container.get("env") or () if entry["name"] not in OWN_VARIABLES
        ],
        "envFrom": container.get("envFrom") or [],
        **pod_volumes.from_template(template["spec"], container),
        **pod_containers.from_template(template["spec"]),
        **app_service.from_template(container),
        **pod_settings.from_template(template["spec"]),
        **node_process.from_template(container),
    }
    # Without defaults, and without the fields that the API server has set and no cluster has.
    given: dict[str, Any] = Pods.model_validate(found).model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude_defaults=True
    )
    return given


def _foreign(entries: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value
        for key, value in entries.items()
        if not key.startswith(OWN_PREFIX) and key not in OWN_LABELS
    }


_FIELDS: Mapping[str, Callable[[_Template], Any]] = {
    "image": _of_container("image"),
    "imagePullPolicy": _of_container("imagePullPolicy"),
    "resources": _of_container("resources"),
    "imagePullSecrets": _of_pod("imagePullSecrets", []),
    "nodeSelector": _of_pod("nodeSelector", {}),
    "tolerations": _of_pod("tolerations", []),
    "affinity": _of_pod("affinity", None),
    "topologySpreadConstraints": _of_pod("topologySpreadConstraints", []),
    "priorityClassName": _of_pod("priorityClassName", ""),
    "pods": _pods,
    "restore": lambda template: restored_backup.from_template(
        template["spec"].get("volumes") or ()
    ),
}
"""Fields of the spec that the template copies, and where."""

_OUTSIDE_TEMPLATE = (
    "volumeClaimTemplates",
    "stateClaim",
    "persistentVolumeClaimRetentionPolicy",
)
"""Fields of `spec.pods` of which a template says nothing: an undo leaves them alone."""


def run_undo(context: Context, arguments: Namespace) -> int:
    """Restore the fields of the spec that the newest template changed."""
    cluster = access.cluster_of(context, arguments.name)
    spec: Json = access.manifest_of(context, cluster.name)["spec"]
    newest, previous = _templates(context, cluster.name)
    fields = changed_fields(newest, previous)
    patch = {
        "spec": {name: replacing(_copied(name, spec), value) for name, value in fields.items()}
    }
    where = (context.namespace, access.RESOURCE, cluster.name)
    try:
        context.api.merge(*where, patch, dry_run=True)
    except KubectlError as error:
        raise CommandError(f"refused, nothing was changed: {error}") from None
    for name, value in fields.items():
        context.write(f"spec.{name}: {_shown(_FIELDS[name](newest))} -> {_shown(value)}")
    if arguments.dry_run:
        context.write("The API server accepts it. Nothing was changed (--dry-run).")
        return 0
    context.api.merge(*where, patch)
    access.follow(context, cluster, "Changed.")
    return 0


def changed_fields(newest: _Template, previous: _Template) -> dict[str, Any]:
    """Return the fields of the spec that restore the previous template, and their values.

    Raises `CommandError` if fields of the spec alone cannot restore it.
    """
    if _configuration(newest) != _configuration(previous):
        raise CommandError(
            "the last change includes the workload or the channels, whose previous state"
            " Kubernetes does not keep: apply the previous manifest"
        )
    if any(override.ANNOTATION in _annotations(each) for each in (newest, previous)):
        raise CommandError(
            "the pods have a spec.pods.override, which cannot be distinguished from the rest of"
            " their template: apply the previous manifest"
        )
    fields = {
        name: value(previous) for name, value in _FIELDS.items() if value(previous) != value(newest)
    }
    if not fields:
        raise CommandError(
            "the last change of the pods came with another version of the operator, not with the"
            " spec: helm rollback undoes that"
        )
    return fields


def _copied(name: str, spec: Json) -> Any:
    """Return the part of a live field that the template copies."""
    live = spec.get(name)
    if name != "pods" or live is None:
        return live
    return {key: value for key, value in live.items() if key not in _OUTSIDE_TEMPLATE}


def replacing(live: Any, wanted: Any) -> Any:
    """Return the JSON merge patch that makes a live value the wanted one.

    >>> replacing({"a": 1, "b": 2}, {"a": 3})
    {'b': None, 'a': 3}
    """
    if not (isinstance(live, Mapping) and isinstance(wanted, Mapping)):
        return wanted
    gone = {key: None for key in live if key not in wanted}
    return gone | {key: replacing(live.get(key), value) for key, value in wanted.items()}


def _templates(context: Context, name: str) -> tuple[_Template, _Template]:
    """Return the newest template of the first shard's pods, and the one before.

    Raises `CommandError` if there are none; `KubectlError`.
    """
    shard = context.api.get(f"{_APPS}/{context.namespace}/statefulsets/{name}")
    path = f"{_APPS}/{context.namespace}/controllerrevisions"
    own = [
        item
        for item in context.api.items(path, labels=naming.selector(name))
        if owned_by(item, shard["metadata"]["uid"])
    ]
    own.sort(key=lambda item: int(item["revision"]))
    names = [item["metadata"]["name"] for item in own]
    newest = shard["status"].get("updateRevision", "")
    if newest not in names or names.index(newest) == 0:
        raise CommandError(f"the pods of {name} have no previous template: nothing to undo")
    index = names.index(newest)
    after, before = (own[at]["data"]["spec"]["template"] for at in (index, index - 1))
    return after, before


def _configuration(template: _Template) -> str:
    return str(_annotations(template).get(CONFIG_HASH_ANNOTATION, ""))


def _annotations(template: _Template) -> Mapping[str, str]:
    found: Mapping[str, str] = template["metadata"].get("annotations") or {}
    return found


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, sort_keys=True)
