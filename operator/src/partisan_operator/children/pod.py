"""The pod of a node: its container, those of `spec.pods`, and no privileges."""

from typing import Any

from partisan_operator.children import (
    app_service,
    claims,
    config_map,
    naming,
    node_http,
    node_process,
    override,
    override_check,
    pod_containers,
    pod_settings,
    pod_volumes,
    restored_backup,
    tls_files,
)
from partisan_operator.children.child import Manifest
from partisan_operator.children.node_config import restart_hash
from partisan_operator.children.shared_secrets import TOKEN
from partisan_operator.models import PartisanCluster, PartisanClusterSpec
from partisan_operator.models.containers import OWN_CONTAINER
from partisan_operator.models.scheduling import DEFAULT_REQUESTS

USER = 65532
CONFIG_HASH_ANNOTATION = "partisan.dev/config-hash"
"""On the pod template: changes when nodes need a restart, which makes a new revision."""


def pod_template(
    cluster: PartisanCluster, shard_labels: dict[str, str], default_image: str, *, bearer: bool
) -> Manifest:
    """Return the template of all pods of a shard.

    `bearer` is whether its image supports the bearer: see `node_http`.
    """
    spec = cluster.spec
    return {
        "metadata": {
            "labels": spec.pods.labels | naming.labels(cluster.name) | shard_labels,
            "annotations": spec.pods.annotations
            | {CONFIG_HASH_ANNOTATION: restart_hash(cluster)}
            | override.pod_annotations(spec.pods)
            | node_http.pod_annotations(bearer=bearer),
        },
        "spec": override_check.applied(spec.pods, own_spec(cluster, default_image, bearer=bearer)),
    }


def own_spec(cluster: PartisanCluster, default_image: str, *, bearer: bool) -> Manifest:
    """Return the spec of all pods before `spec.pods.override` is merged into it."""
    spec = cluster.spec
    return {
        **pod_settings.settings(spec.pods),
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **pod_containers.init_containers(spec.pods),
        "containers": [_container(cluster, default_image, bearer=bearer)],
        "volumes": [
            {
                "name": "config",
                "configMap": {"name": config_map.name_of(cluster.name), "defaultMode": 0o444},
            },
            {
                "name": "secret",
                "secret": {
                    "secretName": TOKEN.name_of(cluster.name),
                    "defaultMode": 0o440,
                },
            },
            *claims.state_volumes(spec.pods),
            *node_http.volumes(cluster, bearer=bearer),
            *tls_files.volumes(cluster),
            *restored_backup.volumes(spec),
            *pod_volumes.volumes(spec.pods),
        ],
        **_scheduling(cluster.name, spec),
    }


def _container(cluster: PartisanCluster, default_image: str, *, bearer: bool) -> Manifest:
    spec = cluster.spec
    return {
        "name": OWN_CONTAINER,
        "image": spec.image or default_image,
        "imagePullPolicy": spec.image_pull_policy.value,
        "ports": [
            {"name": "partisan", "containerPort": naming.PARTISAN_PORT, "protocol": "TCP"},
            node_http.port(cluster, bearer=bearer),
            *app_service.container_ports(spec.pods),
        ],
        **node_process.arguments(spec),
        **node_process.environment(spec, _requests(spec)),
        "resources": _resources(spec),
        **node_process.probes(cluster, bearer=bearer),
        "securityContext": dict(pod_containers.RESTRICTED),
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/partisan/config", "readOnly": True},
            {"name": "secret", "mountPath": "/etc/partisan/secret", "readOnly": True},
            claims.state_mount(spec.pods),
            *node_http.mounts(bearer=bearer),
            *tls_files.mounts(cluster),
            *restored_backup.mounts(spec),
            *pod_volumes.node_mounts(spec.pods),
        ],
    }


def _requests(spec: PartisanClusterSpec) -> dict[str, Any]:
    return DEFAULT_REQUESTS if spec.resources.requests is None else spec.resources.requests


def _resources(spec: PartisanClusterSpec) -> Manifest:
    requests = _requests(spec)
    resources: Manifest = {"requests": _quantities(requests)} if requests else {}
    if spec.resources.limits:
        resources["limits"] = _quantities(spec.resources.limits)
    return resources


def _quantities(quantities: dict[str, Any]) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in quantities.items()}


def _scheduling(cluster: str, spec: PartisanClusterSpec) -> Manifest:
    """Return the scheduling fields that the spec sets."""
    constraints = spec.topology_spread_constraints
    scheduling: Manifest = {
        "nodeSelector": dict(spec.node_selector),
        "tolerations": [toleration.to_wire() for toleration in spec.tolerations],
        "affinity": spec.affinity.to_wire() if spec.affinity else None,
        "priorityClassName": spec.priority_class_name,
        "imagePullSecrets": [secret.to_wire() for secret in spec.image_pull_secrets],
        "topologySpreadConstraints": (
            _default_spread(cluster)
            if constraints is None
            else [constraint.to_wire() for constraint in constraints]
        ),
    }
    return {key: value for key, value in scheduling.items() if value}


def _default_spread(cluster: str) -> list[Manifest]:
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": naming.selector_labels(cluster)},
        }
        for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
    ]
