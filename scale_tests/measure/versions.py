"""Versions of what took part in a measurement, by name."""

import platform
from collections.abc import Iterable, Sequence

from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.nodes import NodeStatus
from scale_tests.cluster.operator import operator_pods, tool
from scale_tests.host.commands import CommandError, capture


def of_cluster(cluster: Cluster, nodes: Sequence[NodeStatus]) -> dict[str, str]:
    """The versions of a run with a cluster, as its parts report them. Raises ApiError."""
    machines = [item["status"]["nodeInfo"] for item in cluster.list("api/v1/nodes")]

    def reported(field: str) -> str:
        return ", ".join(sorted({machine[field] for machine in machines}))

    found = {
        "kubernetes": cluster.version(),
        "container_runtime": reported("containerRuntimeVersion"),
        "os": reported("osImage"),
    }
    for pod in operator_pods(cluster):
        found["operator"] = pod["metadata"]["labels"].get("app.kubernetes.io/version", "")
    if nodes:
        found["erlang_node"] = ", ".join(sorted({node.version for node in nodes}))
        found["otp"] = ", ".join(sorted({node.otp for node in nodes}))
    helm = _said([tool("helm"), "version", "--template", "{{.Version}}"])
    return found | {"helm": helm} | of_repository()


def of_machine(otp: Iterable[str]) -> dict[str, str]:
    """The versions of a run on this machine, with the OTP releases that the VMs reported."""
    return {"otp": ", ".join(sorted(set(otp)))} | of_repository()


def of_repository() -> dict[str, str]:
    """The commit, and whether anything but docs/, where pages are written, differs from it."""
    changed = ["git", "status", "--porcelain", "-uno", "--", ":/", ":(exclude,top)docs"]
    dirty = "-dirty" if _said(changed) else ""
    source = _said(["git", "describe", "--always"]) + dirty
    return {"python": platform.python_version(), "source": source}


def _said(argv: Sequence[str]) -> str:
    """The output of a program; its error instead where figures must not be lost over it."""
    try:
        return capture(argv).strip()
    except CommandError as error:
        return f"unknown: {error}".splitlines()[0]
