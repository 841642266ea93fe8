"""Saves a diagnostic bundle of a namespace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import yaml

from scale_tests.cluster import operator
from scale_tests.cluster.kube import ApiError, Cluster, Json, core, partisan_cluster
from scale_tests.cluster.nodes import read_page

LOG_LINES = 400
"""Lines of each node's log that are kept."""

KINDS = {
    "statefulsets": "apis/apps/v1/namespaces/{}/statefulsets",
    "pods": "api/v1/namespaces/{}/pods",
    "services": "api/v1/namespaces/{}/services",
    "configmaps": "api/v1/namespaces/{}/configmaps",
    "endpointslices": "apis/discovery.k8s.io/v1/namespaces/{}/endpointslices",
    "resourcequotas": "api/v1/namespaces/{}/resourcequotas",
}
"""Kinds that are saved of a namespace, by the names of their files. Not Secrets."""


def must_gather(cluster: Cluster, namespace: str, directory: Path) -> Path:
    """Saves objects, events, logs and nodes' status of a namespace; returns `directory`.

    What cannot be read is noted in its `errors.txt`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    errors: list[str] = []

    def save(name: str, content: Callable[[], str]) -> None:
        try:
            (directory / name).write_text(content())
        except ApiError as error:
            errors.append(f"{name}: {error}\n")

    def objects(path: str) -> Callable[[], str]:
        return lambda: yaml.safe_dump_all([_without_noise(item) for item in cluster.list(path)])

    def log(pod: str, previous: str) -> Callable[[], str]:
        path = core(namespace, "pods", f"{pod}/log")
        return lambda: cluster.text(path, tailLines=str(LOG_LINES), previous=previous)

    def status(pod: str) -> Callable[[], str]:
        return lambda: read_page(cluster, namespace, pod, "status")

    save("partisanclusters.yaml", objects(partisan_cluster(namespace)))
    for kind, path in KINDS.items():
        save(f"{kind}.yaml", objects(path.format(namespace)))
    save("events.txt", lambda: "\n".join(events(cluster, namespace)) + "\n")
    save("operator.log", lambda: operator.logs(cluster))
    save("nodes.yaml", objects("api/v1/nodes"))
    try:
        pods = cluster.list(core(namespace, "pods"))
    except ApiError as error:
        errors.append(f"pods: {error}\n")
        pods = []
    for pod in pods:
        name = pod["metadata"]["name"]
        save(f"{name}.log", log(name, "false"))
        save(f"{name}.status.json", status(name))
        if any(c.get("restartCount") for c in pod["status"].get("containerStatuses") or ()):
            save(f"{name}.previous.log", log(name, "true"))
    if errors:
        (directory / "errors.txt").write_text("".join(errors))
    return directory


def events(cluster: Cluster, namespace: str) -> list[str]:
    """The namespace's events, oldest first, one line each. Raises ApiError."""
    items = cluster.list(core(namespace, "events"))
    return [
        f"{_time(item)} {item['type']} {item['involvedObject']['kind']}/"
        f"{item['involvedObject']['name']} {item['reason']}: {item.get('message', '').strip()}"
        for item in sorted(items, key=_time)
    ]


def _time(event: Json) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp"))


def _without_noise(item: Json) -> Json:
    item["metadata"].pop("managedFields", None)
    return item
