"""The two clusters that are compared: ours, and the same pods without overlay or operator."""

from __future__ import annotations

from scale_tests.harness.kube import Json

BASELINE = "baseline"
CLUSTER = "bench"


def partisan_cluster(nodes: int) -> Json:
    """A HyParView cluster without a workload."""
    return {
        "apiVersion": "partisan.dev/v1alpha1",
        "kind": "PartisanCluster",
        "metadata": {"name": CLUSTER},
        "spec": {"replicas": nodes, "overlay": {"kind": "HyParView"}},
    }


def baseline(nodes: int, image: str, security: Json) -> Json:
    """A StatefulSet of bare Erlang machines from the node's own image, made as ours are.

    Without probes a pod is ready once its container runs, so what this takes is what Kubernetes
    and the container runtime take, and no more. `security` is the pods' security context.
    """
    labels = {"app": BASELINE}
    container = {
        "name": "node",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["erl", "-noshell", "-noinput", "+S", "1:1", "+sbwt", "none"],
        "env": [{"name": "HOME", "value": "/tmp"}],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": BASELINE},
        "spec": {
            "replicas": nodes,
            "serviceName": BASELINE,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "terminationGracePeriodSeconds": 0,
                    "securityContext": security,
                    "containers": [container],
                },
            },
        },
    }
