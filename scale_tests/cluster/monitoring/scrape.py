"""Translates the chart's monitors into a configuration for Prometheus without its operator.

What is wrong with a monitor then shows in the data of demo and tests.
"""

import re
from typing import Any

from scale_tests.cluster.kube import Json

_ENDPOINTS = {"PodMonitor": "podMetricsEndpoints", "ServiceMonitor": "endpoints"}
"""The kinds of monitors, and the field of each one's endpoints."""

_TARGET = {
    "namespace": "__meta_kubernetes_namespace",
    "pod": "__meta_kubernetes_pod_name",
    "container": "__meta_kubernetes_pod_container_name",
}
"""The labels that the Prometheus operator gives to every target, and where they come from."""


def configuration(objects: list[Json], rule_file: str) -> Json:
    """The configuration that scrapes the targets of the monitors among `objects`.

    Raises KeyError: a monitor has a member that is not translated.
    """
    jobs = [
        _job(item, endpoint)
        for item in objects
        if item["kind"] in _ENDPOINTS
        for endpoint in item["spec"][_ENDPOINTS[item["kind"]]]
    ]
    return {
        "global": {"evaluation_interval": "5s"},
        "rule_files": [rule_file],
        "scrape_configs": jobs,
    }


def _job(monitor: Json, endpoint: Json) -> Json:
    metadata, spec = monitor["metadata"], monitor["spec"]
    of_pods = monitor["kind"] == "PodMonitor"
    selected, ports = ("pod", "pod_container") if of_pods else ("service", "endpointslice")
    keep = [
        # In the names of Prometheus's own labels other characters become underscores.
        _keep(f"__meta_kubernetes_{selected}_label_{re.sub('[^a-zA-Z0-9_]', '_', label)}", value)
        for label, value in spec["selector"]["matchLabels"].items()
    ]
    if of_pods:
        # Pods that have ended stay for a while, and answer no more.
        keep.append(_keep("__meta_kubernetes_pod_phase", "(Pending|Running)"))
    own = [
        {"source_labels": rule["sourceLabels"], "target_label": rule["targetLabel"]}
        for rule in endpoint.get("relabelings", [])
    ]
    name = f"{metadata['namespace']}/{metadata['name']}"
    targets = [{"source_labels": [meta], "target_label": name} for name, meta in _TARGET.items()]
    return {
        # Distinguishes those of a monitor with several endpoints; the label `job` is the same.
        "job_name": "/".join([name, *([endpoint["scheme"]] if "scheme" in endpoint else [])]),
        "honor_labels": endpoint.get("honorLabels", False),
        "scrape_interval": endpoint["interval"],
        "scrape_timeout": endpoint["interval"],
        "metrics_path": endpoint["path"],
        "scheme": endpoint.get("scheme", "http"),
        **_tls(endpoint.get("tlsConfig")),
        "kubernetes_sd_configs": [
            {
                "role": "pod" if of_pods else "endpointslice",
                **_namespaces(spec.get("namespaceSelector", {}), metadata["namespace"]),
            }
        ],
        "relabel_configs": [
            *keep,
            _keep(f"__meta_kubernetes_{ports}_port_name", endpoint["port"]),
            {"target_label": "job", "replacement": name},
            *targets,
            *own,
        ],
    }


def _tls(config: Json | None) -> dict[str, Any]:
    if config is None:
        return {}
    return {"tls_config": {"insecure_skip_verify": config["insecureSkipVerify"]}}


def _namespaces(selector: Json, own: str) -> dict[str, Any]:
    if selector.get("any"):
        return {}
    return {"namespaces": {"names": selector.get("matchNames", [own])}}


def _keep(label: str, pattern: str) -> Json:
    return {"source_labels": [label], "regex": pattern, "action": "keep"}
