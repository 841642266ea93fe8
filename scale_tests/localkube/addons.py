"""Objects that a cluster needs beyond what the API server creates by itself."""

from __future__ import annotations

from typing import Any

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def objects() -> list[tuple[str, dict[str, Any]]]:
    """API paths with the objects to apply there: what components may do beyond their roles."""
    return [
        _cluster_role(
            "system:coredns",
            [
                ("", ["services", "pods", "namespaces"]),
                ("discovery.k8s.io", ["endpointslices"]),
            ],
        ),
        _cluster_role_binding("system:coredns", user="system:coredns"),
        # Logs, exec and port-forward reach the kubelet in the API server's name.
        _cluster_role_binding("system:kubelet-api-admin", user="kube-apiserver-kubelet-client"),
    ]


def _cluster_role(name: str, reads: list[tuple[str, list[str]]]) -> tuple[str, dict[str, Any]]:
    return f"{RBAC}/clusterroles/{name}", {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [
            {"apiGroups": [group], "resources": resources, "verbs": ["list", "watch"]}
            for group, resources in reads
        ],
    }


def _cluster_role_binding(role: str, *, user: str) -> tuple[str, dict[str, Any]]:
    """Gives the cluster role of this name to a user, under a binding named alike."""
    group = "rbac.authorization.k8s.io"
    return f"{RBAC}/clusterrolebindings/{role}", {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
