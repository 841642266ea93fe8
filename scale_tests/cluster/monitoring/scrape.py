"""Translates the chart's monitors into a configuration for Prometheus without its operator.

What is wrong with a monitor then shows in the data of demo and tests.
"""

import re

from scale_tests.cluster.kube import Json
from scale_tests.host.documents import data_of
from scale_tests.host.templates import filled

_ENDPOINTS = {"PodMonitor": "podMetricsEndpoints", "ServiceMonitor": "endpoints"}
"""The kinds of monitors, and the field of each one's endpoints."""

_DATA: Json = data_of(__file__)


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
    found: Json = filled(_DATA["configuration"], rule_file=rule_file, jobs=jobs)
    return found


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
    keep.append(_keep(f"__meta_kubernetes_{ports}_port_name", endpoint["port"]))
    own = [
        {"source_labels": rule["sourceLabels"], "target_label": rule["targetLabel"]}
        for rule in endpoint.get("relabelings", [])
    ]
    name = f"{metadata['namespace']}/{metadata['name']}"
    discovery: Json = {"role": "pod" if of_pods else "endpointslice"}
    namespaces = spec.get("namespaceSelector", {})
    if not namespaces.get("any"):
        names = namespaces.get("matchNames", [metadata["namespace"]])
        discovery["namespaces"] = {"names": names}
    job: Json = filled(
        _DATA["job"],
        job="/".join([name, *([endpoint["scheme"]] if "scheme" in endpoint else [])]),
        honor_labels=endpoint.get("honorLabels", False),
        endpoint=endpoint,
        scheme=endpoint.get("scheme", "http"),
        discovery=discovery,
        relabelings=[*keep, *filled(_DATA["targets"], name=name), *own],
    )
    if "tlsConfig" in endpoint:
        job["tls_config"] = {"insecure_skip_verify": endpoint["tlsConfig"]["insecureSkipVerify"]}
    return job


def _keep(label: str, pattern: str) -> Json:
    return {"source_labels": [label], "regex": pattern, "action": "keep"}
