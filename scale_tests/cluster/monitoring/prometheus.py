"""Prometheus as a pod: installed, removed, queried through the API server.

Its data live as long as the pod.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment, image_digest
from scale_tests.cluster.kube import ApiError, Cluster, Json, core
from scale_tests.cluster.monitoring.scrape import configuration
from scale_tests.cluster.wait import wait_for
from scale_tests.host.commands import capture
from scale_tests.host.templates import filled

NAMESPACE = "partisan-monitoring"
NAME = "prometheus"
PORT = 9090
INTERVAL = "5s"
"""The scrape interval: demo and tests last a minute or two."""

_MANIFESTS = Path(__file__).with_suffix(".yaml")
_DEPLOYMENT = f"apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"


@dataclass(frozen=True)
class Prometheus:
    """The Prometheus of a cluster, spoken to through the API server: that works on any cluster."""

    cluster: Cluster

    def query(self, expression: str, *, at: float | None = None) -> list[Json]:
        """The samples of an instant query, now or at a Unix time. Raises ApiError."""
        when = {} if at is None else {"time": f"{at:.3f}"}
        return self._result("query", query=expression, **when)

    def query_range(self, expression: str, *, start: float, end: float, step: float) -> list[Json]:
        """The series of a query between two times, in seconds since 1970. Raises ApiError."""
        return self._result(
            "query_range",
            query=expression,
            start=f"{start:.3f}",
            end=f"{end:.3f}",
            step=f"{step:g}",
        )

    def rules(self) -> list[Json]:
        """All rules that are loaded, with their health and state. Raises ApiError."""
        groups = self._get("rules")["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def value(self, expression: str) -> float | None:
        """The number that a query gives, if it gives one. Raises ApiError."""
        samples = self.query(expression)
        return float(samples[0]["value"][1]) if samples else None

    def _result(self, path: str, **parameters: str) -> list[Json]:
        return cast(list[Json], self._get(path, **parameters)["result"])

    def _get(self, path: str, **parameters: str) -> Any:
        return self.cluster.get(_page(f"api/v1/{path}"), timeout=30.0, **parameters)["data"]


def _page(path: str) -> str:
    """A page of Prometheus, as the API server's own path."""
    return core(NAMESPACE, "services", f"http:{NAME}:{PORT}/proxy/{path}")


def install(environment: Environment) -> Prometheus:
    """Has Prometheus scrape the targets of the chart's monitors, and waits until it is ready.

    Raises CommandError, ApiError, StalledError.
    """
    manifests = objects(chart_objects(), environment.prometheus_image)
    operator.kubectl(
        environment,
        *("apply", "--server-side", "--force-conflicts", "-f", "-"),
        stdin=yaml.safe_dump_all(manifests),
    )
    prometheus = Prometheus(Cluster(environment.kubeconfig))
    wait_for("Prometheus ready", lambda: obstacle(prometheus), lambda reason: not reason)
    return prometheus


def obstacle(prometheus: Prometheus) -> str:
    """The reason why Prometheus does not answer; empty if it does. Raises ApiError.

    The Deployment is not enough: after a restart of the machine pods count as ready until their
    kubelet has checked them.
    """
    if not _current(prometheus.cluster.get(_DEPLOYMENT)):
        return "its pod is not ready, or not of the current template"
    try:
        prometheus.cluster.text(_page("-/ready"))
    except ApiError as error:
        return str(error)
    return ""


def uninstall(environment: Environment) -> None:
    """Removes all that `install` made, whatever of it is there. Raises CommandError."""
    for kind in ("clusterrolebinding", "clusterrole"):
        operator.kubectl(environment, "delete", kind, NAMESPACE, "--ignore-not-found")
    operator.kubectl(environment, "delete", "namespace", NAMESPACE, "--ignore-not-found")


def address(environment: Environment, cluster: Cluster) -> str:
    """How a person reaches it: an address, or the command that makes one. Raises ApiError."""
    if environment.local:
        # Services of the local cluster are reachable from its machine.
        service = cluster.get(core(NAMESPACE, "services", NAME))
        return f"http://{service['spec']['clusterIP']}:{PORT}"
    return f"kubectl port-forward -n {NAMESPACE} service/{NAME} {PORT}"


def chart_objects(*values: str) -> list[Json]:
    """The chart's objects where the Prometheus operator's kinds are known. Raises CommandError."""
    rendered = capture(
        [
            *(operator.tool("helm"), "template", operator.RELEASE, operator.CHART),
            *("--namespace", operator.NAMESPACE, "--kube-version", "1.36.0"),
            *("--api-versions", "monitoring.coreos.com/v1"),
            *("--set", f"metrics.podMonitor.interval={INTERVAL}"),
            *("--set", f"metrics.serviceMonitor.interval={INTERVAL}"),
            *(argument for value in values for argument in ("--set", value)),
        ]
    )
    return [item for item in yaml.safe_load_all(rendered) if item]


def objects(chart: list[Json], image: str) -> list[Json]:
    """The objects that make up the Prometheus which scrapes what a chart's monitors select."""
    rules = next(item["spec"] for item in chart if item["kind"] == "PrometheusRule")
    files = {
        "prometheus.yml": yaml.safe_dump(configuration(chart, "/etc/prometheus/alerts.yaml")),
        "alerts.yaml": yaml.safe_dump(rules),
    }
    digest = hashlib.sha256("\0".join(files.values()).encode()).hexdigest()
    own = list(yaml.safe_load_all(_MANIFESTS.read_text()))
    found: list[Json] = filled(
        own, files=files, image=image, digest=digest, image_digest=image_digest(NAME)
    )
    return found


def _current(deployment: Json) -> bool:
    """Whether the running pod is of the current template."""
    status = deployment["status"]
    seen = bool(status.get("observedGeneration") == deployment["metadata"]["generation"])
    return seen and status.get("updatedReplicas") == status.get("readyReplicas") == 1
