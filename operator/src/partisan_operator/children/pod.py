"""The pod of a node: its container, those of `spec.pods`, and no privileges."""

from __future__ import annotations

from typing import Any

from partisan_operator.children import (
    app_service,
    config_map,
    naming,
    node_http,
    pod_containers,
    pod_settings,
    pod_volumes,
    tls_files,
)
from partisan_operator.children.child import Manifest
from partisan_operator.children.node_config import restart_hash
from partisan_operator.children.shared_secrets import TOKEN
from partisan_operator.models import PartisanCluster, PartisanClusterSpec
from partisan_operator.models.containers import OWN_CONTAINER
from partisan_operator.models.quantities import whole
from partisan_operator.models.scheduling import DEFAULT_REQUESTS

USER = 65532
CONFIG_HASH_ANNOTATION = "partisan.dev/config-hash"
"""On the pod template: changes when nodes need a restart, which makes a new revision."""

# A node is ready once it has joined. The startup probe waits for that, since each failed probe is
# an event on the pod. Later probes are rare: there may be a thousand nodes. Joining may take long
# where hundreds of pods start on one Kubernetes node, and a restart would only add to that.
_STARTUP = {
    "path": "/readyz?wait=10",
    "initialDelaySeconds": 2,
    "periodSeconds": 1,
    "timeoutSeconds": 15,
    "failureThreshold": 1800,
}
_READINESS = {"path": "/readyz", "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 2}
_LIVENESS = {"path": "/livez", "periodSeconds": 20, "timeoutSeconds": 10, "failureThreshold": 6}


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
            | node_http.pod_annotations(bearer=bearer),
        },
        "spec": {
            **pod_settings.settings(spec.pods),
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 30,
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
                {"name": "state", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
                *node_http.volumes(cluster, bearer=bearer),
                *tls_files.volumes(cluster),
                *pod_volumes.volumes(spec.pods),
            ],
            **_scheduling(cluster.name, spec),
        },
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
        "env": [
            {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
            for name, path in (
                ("POD_NAME", "metadata.name"),
                ("POD_NAMESPACE", "metadata.namespace"),
                ("POD_IP", "status.podIP"),
                ("K8S_NODE_NAME", "spec.nodeName"),
                # Empty where Kubernetes does not copy the label from its node to the pod.
                ("K8S_ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
            )
        ]
        + _schedulers(spec)
        + [variable.to_wire() for variable in spec.pods.env],
        **_variables_from(spec),
        "resources": _resources(spec),
        "startupProbe": _probe(cluster, _STARTUP, bearer=bearer),
        "readinessProbe": _probe(cluster, _READINESS, bearer=bearer),
        "livenessProbe": _probe(cluster, _LIVENESS, bearer=bearer),
        "securityContext": dict(pod_containers.RESTRICTED),
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/partisan/config", "readOnly": True},
            {"name": "secret", "mountPath": "/etc/partisan/secret", "readOnly": True},
            {"name": "state", "mountPath": "/var/lib/partisan"},
            *node_http.mounts(bearer=bearer),
            *tls_files.mounts(cluster),
            *pod_volumes.node_mounts(spec.pods),
        ],
    }


def _probe(cluster: PartisanCluster, probe: dict[str, Any], *, bearer: bool) -> Manifest:
    timing = {key: value for key, value in probe.items() if key != "path"}
    return {"httpGet": node_http.probe(cluster, probe["path"], bearer=bearer), **timing}


def _schedulers(spec: PartisanClusterSpec) -> list[Manifest]:
    """Return as many schedulers as CPUs are requested, unless there is a CPU limit.

    Without either, the emulator starts a scheduler for each CPU of the Kubernetes node.
    """
    if "cpu" in (spec.resources.limits or {}):
        return []
    count = whole(_requests(spec).get("cpu", 1))
    return [{"name": "ERL_FLAGS", "value": f"+S {count}:{count}"}]


def _variables_from(spec: PartisanClusterSpec) -> Manifest:
    sources = [source.to_wire() for source in spec.pods.env_from]
    return {"envFrom": sources} if sources else {}


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
