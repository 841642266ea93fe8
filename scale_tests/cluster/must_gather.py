"""Saves a diagnostic bundle of a namespace; explains why a run stalls."""

from collections.abc import Callable, Iterator
from pathlib import Path

import yaml
from rich.console import Console

from scale_tests.cluster import operator
from scale_tests.cluster.kube import PARTISAN, ApiError, Cluster, Json, core
from scale_tests.cluster.nodes import read_page
from scale_tests.cluster.partisan import read_cluster
from scale_tests.host.commands import relative

SHOWN_LOG_LINES, EVENT_LINES = 15, 10
"""The lines of the operator's log, and of events, that are printed."""

LOG_LINES = 400
"""Lines of each container's log that are kept."""

KINDS = {
    "partisanclusters": PARTISAN,
    "statefulsets": "apis/apps/v1",
    "pods": "api/v1",
    "services": "api/v1",
    "configmaps": "api/v1",
    "persistentvolumeclaims": "api/v1",
    "endpointslices": "apis/discovery.k8s.io/v1",
    "resourcequotas": "api/v1",
}
"""Kinds that are saved of a namespace, with their APIs. Not Secrets."""


def must_gather(cluster: Cluster, namespace: str, directory: Path) -> Path:
    """Saves objects, events, logs and nodes' status of a namespace; returns `directory`.

    What cannot be read is noted in its `errors.txt`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    errors: list[str] = []

    def save(name: str, content: Callable[[], str]) -> None:
        try:
            text = content()
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(text)
        except ApiError as error:
            errors.append(f"{name}: {error}\n")

    def objects(path: str) -> Callable[[], str]:
        return lambda: yaml.safe_dump_all(map(_without_noise, cluster.list(path)))

    def log(pod: str, container: str, previous: str) -> Callable[[], str]:
        path = core(namespace, "pods", f"{pod}/log")
        query = {"container": container, "tailLines": str(LOG_LINES), "previous": previous}
        return lambda: cluster.text(path, **query)

    def status(pod: str) -> Callable[[], str]:
        return lambda: read_page(cluster, namespace, pod, "status")

    for kind, api in KINDS.items():
        save(f"{kind}.yaml", objects(f"{api}/namespaces/{namespace}/{kind}"))
    save("events.txt", lambda: "\n".join(events(cluster, namespace)) + "\n")
    save("operator.log", lambda: operator.logs(cluster))
    save("nodes.yaml", objects("api/v1/nodes"))
    save("persistentvolumes.yaml", objects("api/v1/persistentvolumes"))
    try:
        pods = cluster.list(core(namespace, "pods"))
    except ApiError as error:
        errors.append(f"pods: {error}\n")
        pods = []
    for pod in pods:
        name = pod["metadata"]["name"]
        save(f"{name}.status.json", status(name))
        for stem, container, restarted in _containers(pod):
            save(f"{stem}.log", log(name, container, "false"))
            if restarted:
                save(f"{stem}.previous.log", log(name, container, "true"))
    if errors:
        (directory / "errors.txt").write_text("".join(errors))
    return directory


def _containers(pod: Json) -> Iterator[tuple[str, str, bool]]:
    """The stem of each container's log, its name, and whether it was restarted.

    The first one's stem is the pod's name. Those of the others are in a folder of that name.
    """
    pod_name, spec, status = pod["metadata"]["name"], pod["spec"], pod.get("status") or {}
    own, before = spec["containers"], spec.get("initContainers") or ()
    entries = (
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    )
    restarts = {entry["name"]: entry.get("restartCount", 0) for entry in entries}
    for container in (*own, *before):
        name = container["name"]
        stem = pod_name if container is own[0] else f"{pod_name}/{name}"
        yield stem, name, restarts.get(name, 0) > 0


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


def explain(console: Console, cluster: Cluster, namespace: str, name: str, directory: Path) -> None:
    """Prints conditions, events and the operator's log, in the order in which a user checks.

    The rest is saved in `directory`.
    """
    try:
        console.print("\n[bold]Conditions[/bold]")
        for c in read_cluster(cluster, namespace, name).conditions:
            _line(console, f"{c.type}={c.status}  {c.reason}: {c.message}")
        console.print("\n[bold]Warnings among the last events[/bold]")
        warnings = [line for line in events(cluster, namespace) if " Warning " in line]
        for line in warnings[-EVENT_LINES:]:
            _line(console, line)
        console.print("\n[bold]End of the operator's log[/bold]")
        for line in operator.logs(cluster, lines=SHOWN_LOG_LINES).splitlines():
            _line(console, line)
        must_gather(cluster, namespace, directory)
    except ApiError as error:
        _line(console, f"The API server could not be asked any further: {error}")
    console.print(f"\nEverything else is in {relative(directory)}/.", highlight=False)


def _line(console: Console, text: str) -> None:
    console.print(f"  {text}", highlight=False, markup=False, soft_wrap=True)
