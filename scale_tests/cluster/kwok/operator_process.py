"""The operator as a process, with the rights that the chart gives it and no others."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from scale_tests.cluster import operator, programs
from scale_tests.cluster.kube import core, holds
from scale_tests.cluster.kwok.control_plane import ControlPlane
from scale_tests.cluster.monitoring.exposition import Page
from scale_tests.cluster.monitoring.prometheus import chart_objects
from scale_tests.cluster.wait import wait_for
from scale_tests.host import files
from scale_tests.host.commands import ROOT, capture
from scale_tests.localkube import configs
from scale_tests.localkube.api import Client

USER = f"system:serviceaccount:{operator.NAMESPACE}:{operator.RELEASE}"
"""The operator's user at the API server."""

KINDS = {
    *("CustomResourceDefinition", "ServiceAccount"),
    *("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
}
"""Kinds of the chart that are installed: all but those that run the operator in a pod or watch it
there."""

METRICS = "http://127.0.0.1:9090"
RESYNC_SECONDS = 60.0
"""The default of the operator's `RESYNC_INTERVAL`."""

LEAST_PAUSE = 0.25
"""Seconds between two reconciles of a cluster, at least: the operator's own rule."""

_TOKEN_SECONDS = 86400


@dataclass(frozen=True, kw_only=True)
class OperatorProcess:
    """An operator that acts."""

    pid: int

    def page(self) -> Page:
        """Its metrics. Raises OSError."""
        return Page.at(f"{METRICS}/metrics")

    def waited_seconds(self) -> float:
        """For how long its thread was ready to run and had no processor, since it started."""
        _, waited, _ = Path(f"/proc/{self.pid}/schedstat").read_text().split()
        return int(waited) / 1e9

    def peak_memory_bytes(self) -> int:
        """The most memory that it has had resident, as the kernel counts it."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return int(fields["VmHWM"].split()[0]) * 1024


@contextmanager
def operator_process(plane: ControlPlane) -> Iterator[OperatorProcess]:
    """An operator of all namespaces that leads, until the block is left.

    Raises ExpectedError, ApiError, or StalledError: the CRD is not established.
    """
    _install(plane)
    variables = {
        "PYTHONPATH": str(ROOT / "operator" / "src"),
        "KUBECONFIG": str(_kubeconfig(plane)),
        "PARTISAN_OPERATOR_NODE_IMAGE": "simulated",
    }
    client = Client(plane.settings)

    def obstacle() -> str:
        found = client.obstacle(f"{METRICS}/readyz")
        if found:
            return found
        leads = Page.at(f"{METRICS}/metrics").total("partisan_operator_leader") == 1
        return "" if leads else "it does not hold the Lease"

    argv = [sys.executable, "-m", "partisan_operator"]
    with programs.running(
        "operator", argv, plane.settings.logs, obstacle=obstacle, variables=variables
    ) as pid:
        yield OperatorProcess(pid=pid)


def _install(plane: ControlPlane) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": operator.NAMESPACE}}
    objects = [namespace, *(item for item in chart_objects() if item["kind"] in KINDS)]
    capture(
        [operator.tool("kubectl"), "apply", "--server-side", "-f", "-"],
        env={"KUBECONFIG": str(plane.settings.kubeconfig)},
        stdin=yaml.safe_dump_all(objects),
    )
    wait_for(
        "the CRD of PartisanCluster",
        lambda: plane.cluster.get(operator.CRD),
        lambda definition: holds(definition, "Established"),
        progress=lambda _: None,
    )


def _kubeconfig(plane: ControlPlane) -> Path:
    """The kubeconfig of the operator's service account, as in its pods."""
    path = f"{core(operator.NAMESPACE, 'serviceaccounts', operator.RELEASE)}/token"
    answer = plane.cluster.create(path, {"spec": {"expirationSeconds": _TOKEN_SECONDS}})
    document = json.loads(configs.kubeconfig(plane.settings, "admin"))
    document["users"][0]["user"] = {"token": answer["status"]["token"]}
    file = plane.settings.configs / "operator.kubeconfig"
    files.replace(file, json.dumps(document), mode=0o600)
    return file
