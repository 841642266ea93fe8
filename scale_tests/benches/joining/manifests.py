"""The two clusters that are compared: ours, and the same pods without overlay or operator."""

from __future__ import annotations

from scale_tests.cluster.kube import Json
from scale_tests.cluster.subject import manifest

BASELINE = "baseline"
CLUSTER = "bench"


def partisan_cluster(nodes: int) -> Json:
    """A HyParView cluster without a workload."""
    body = manifest(CLUSTER, nodes)
    del body["spec"]["workload"]
    return body


def baseline(nodes: int, image: str, security: Json) -> Json:
    """A StatefulSet of bare Erlang machines from the node's own image, made as ours are.

    The pods mount what ours mount, a ConfigMap, a Secret and memory; they have no probes, and so
    are ready once their containers run. What this takes is what Kubernetes and the container
    runtime take, and no more. `security` is the pods' security context.
    """
    labels = {"app": BASELINE}
    mounts = {"config": "/etc/config", "secret": "/etc/secret", "state": "/var/lib/state"}
    container = {
        "name": "node",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["erl", "-noshell", "-noinput", "+S", "1:1", "+sbwt", "none"],
        "env": [{"name": "HOME", "value": "/tmp"}],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
    }
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": {**security, "fsGroup": security["runAsGroup"]},
        "containers": [container],
        "volumes": [
            {"name": "config", "configMap": {"name": BASELINE}},
            {"name": "secret", "secret": {"secretName": BASELINE}},
            {"name": "state", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        ],
    }
    stateful_set = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": BASELINE},
        "spec": {
            "replicas": nodes,
            "serviceName": BASELINE,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    metadata = {"name": BASELINE}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"a": "b"}}
    return {"apiVersion": "v1", "kind": "List", "items": [config, secret, stateful_set]}
