"""The translation of monitors."""

from typing import Any

from scale_tests.cluster.monitoring.scrape import configuration

POD_MONITOR: dict[str, Any] = {
    "kind": "PodMonitor",
    "metadata": {"name": "nodes", "namespace": "system"},
    "spec": {
        "namespaceSelector": {"any": True},
        "selector": {"matchLabels": {"app.kubernetes.io/managed-by": "partisan-operator"}},
        "podMetricsEndpoints": [
            {
                "port": "http",
                "path": "/metrics",
                "interval": "5s",
                "relabelings": [{"sourceLabels": ["__meta_x"], "targetLabel": "cluster"}],
            }
        ],
    },
}
SERVICE_MONITOR: dict[str, Any] = {
    "kind": "ServiceMonitor",
    "metadata": {"name": "operator", "namespace": "system"},
    "spec": {
        "selector": {"matchLabels": {"app": "operator"}},
        "endpoints": [
            {"port": "metrics", "path": "/metrics", "interval": "9s", "honorLabels": True}
        ],
    },
}
OTHER: dict[str, Any] = {"kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": []}}


def job_of(monitor: dict[str, Any]) -> dict[str, Any]:
    (job,) = configuration([OTHER, monitor], "rules")["scrape_configs"]
    return dict(job)


def test_pods_of_all_namespaces_are_kept_by_label_and_port() -> None:
    job = job_of(POD_MONITOR)
    assert job["kubernetes_sd_configs"] == [{"role": "pod"}]
    kept = {r["source_labels"][0]: r["regex"] for r in job["relabel_configs"] if "regex" in r}
    assert kept == {
        "__meta_kubernetes_pod_label_app_kubernetes_io_managed_by": "partisan-operator",
        "__meta_kubernetes_pod_phase": "(Pending|Running)",
        "__meta_kubernetes_pod_container_port_name": "http",
    }


def test_the_labels_of_the_prometheus_operator_come_first_and_the_monitors_own_last() -> None:
    named = [r["target_label"] for r in job_of(POD_MONITOR)["relabel_configs"] if "regex" not in r]
    assert named == ["job", "namespace", "pod", "container", "cluster"]


def test_a_service_is_found_in_the_namespace_of_its_monitor() -> None:
    job = job_of(SERVICE_MONITOR)
    assert job["kubernetes_sd_configs"] == [
        {"role": "endpointslice", "namespaces": {"names": ["system"]}}
    ]
    assert job["honor_labels"] is True
    assert job["scrape_interval"] == job["scrape_timeout"] == "9s"


def test_a_port_with_tls_is_a_job_of_its_own() -> None:
    (plain,) = POD_MONITOR["spec"]["podMetricsEndpoints"]
    secure = plain | {"port": "https", "scheme": "https", "tlsConfig": {"insecureSkipVerify": True}}
    spec = POD_MONITOR["spec"] | {"podMetricsEndpoints": [plain, secure]}
    first, second = configuration([POD_MONITOR | {"spec": spec}], "rules")["scrape_configs"]
    assert (first["job_name"], second["job_name"]) == ("system/nodes", "system/nodes/https")
    label = {"target_label": "job", "replacement": "system/nodes"}
    assert all(label in job["relabel_configs"] for job in (first, second))
    assert (first["scheme"], second["scheme"]) == ("http", "https")
    assert "tls_config" not in first
    assert second["tls_config"] == {"insecure_skip_verify": True}
