"""Reads clusters, pods and nodes for the commands, with errors of one line."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TextIO

import yaml
from pydantic import Field, ValidationError

from partisan_operator.children import naming, node_http
from partisan_operator.cli.kubectl import Json, Kubectl, KubectlError, core
from partisan_operator.cli.text import harmless
from partisan_operator.models import PartisanCluster, clock
from partisan_operator.models.cluster import GROUP, PLURAL, VERSION
from partisan_operator.models.names import SUBDOMAIN
from partisan_operator.observe.observation import Seen
from partisan_operator.observe.report import Gauge, NodeReport, OverlayReport

AT_ONCE = 16
"""Nodes that are asked at the same time: each needs a process of kubectl."""

RESOURCE = f"{PLURAL}.{VERSION}.{GROUP}"
"""Without a version, kubectl would write as the latest that is served."""

CRD = f"apis/apiextensions.k8s.io/v1/customresourcedefinitions/{PLURAL}.{GROUP}"
CLEAR = "\x1b[H\x1b[2J"
"""Clears a terminal."""

OPERATOR_LABELS = "app.kubernetes.io/name=partisan-operator,app.kubernetes.io/component=operator"


class CommandError(Exception):
    """A command failed; the text is one line with the remedy."""


@dataclass(frozen=True)
class Context:
    """Where a command works and writes."""

    api: Kubectl
    namespace: str
    out: TextIO
    now: Callable[[], datetime] = clock.utc_now

    def write(self, text: str, *, clear: bool = False) -> None:
        """Write lines to the output; `clear` clears a terminal before."""
        start = CLEAR if clear and self.out.isatty() else ""
        self.write_log(start + harmless(text))

    def write_log(self, text: str) -> None:
        """Write lines with the colours of their application."""
        self.out.write(text.rstrip("\n") + "\n")
        self.out.flush()


class NodeDetails(NodeReport):
    """A node's report with the fields for people."""

    class Overlay(OverlayReport):
        """The node's place in the overlay, its spare peers included."""

        passive: tuple[str, ...] = ()

    version: str = ""
    otp: str = ""
    uptime_seconds: Annotated[float, Field(ge=0, lt=2**33)] = 0.0
    memory_bytes: Gauge = 0
    overlay: Overlay = Overlay()


@dataclass(frozen=True)
class Scrape:
    """The reports of the nodes that answered, and the errors of the others, by name."""

    seen: Mapping[str, Seen]
    """In the form that `traffic` sums."""

    details: Mapping[str, NodeDetails]
    """The same reports with all fields."""

    failures: Mapping[str, str]

    @property
    def views(self) -> dict[str, tuple[str, ...]]:
        """The active view of each node that answered."""
        return {name: details.overlay.active for name, details in self.details.items()}


def clusters_path(namespace: str, name: str = "") -> str:
    """Return the path of a cluster, or of all clusters in a namespace."""
    path = f"apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"
    return path + (f"/{name}" if name else "")


def manifest_of(context: Context, name: str) -> Json:
    """Read a cluster as it is stored.

    Raises `CommandError` when there is none, or no CRD; `KubectlError`.
    """
    try:
        return context.api.get(clusters_path(context.namespace, checked(name)))
    except KubectlError as error:
        if error.reason != "NotFound":
            raise
    raise CommandError(_absent(context, name))


def checked(name: str) -> str:
    """Return the name of an object, of which a path is made.

    Raises `CommandError` for text that is none, such as an empty variable of a script.
    """
    if re.fullmatch(SUBDOMAIN, name) is None:
        raise CommandError(
            f"{name!r} is not the name of an object: lower-case letters, digits, dashes and dots"
        )
    return name


def cluster_of(context: Context, name: str) -> PartisanCluster:
    """Read a cluster.

    Raises `CommandError` when there is none that this version can read; `KubectlError`.
    """
    return read(manifest_of(context, name))


def clusters_of(context: Context) -> list[PartisanCluster]:
    """Read all clusters of the namespace, by name.

    Raises `CommandError` as `cluster_of`; `KubectlError`.
    """
    return [read(manifest) for manifest in _manifests(context)]


def cluster_names(context: Context) -> list[str]:
    """Return the names of the clusters of the namespace.

    Raises `CommandError` where the CRD is missing; `KubectlError`.
    """
    return [manifest["metadata"]["name"] for manifest in _manifests(context)]


def read(manifest: Json) -> PartisanCluster:
    """Read a cluster from its manifest.

    Raises `CommandError` for one that this version cannot read.
    """
    try:
        return PartisanCluster.from_wire(manifest)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise CommandError(
            f"{manifest['metadata']['name']}: spec.{field}: {first['msg']}: the cluster is of"
            " another version than this plugin; install the plugin of the operator's version"
        ) from None


def _manifests(context: Context) -> list[Json]:
    """Read the clusters of the namespace as they are stored, by name."""
    try:
        items = context.api.items(clusters_path(context.namespace))
    except KubectlError as error:
        if error.reason != "NotFound":
            raise
        raise CommandError(
            "this Kubernetes does not serve PartisanClusters: install the operator's chart"
            " (charts/partisan-operator), or choose another --context"
        ) from None
    return sorted(items, key=lambda item: str(item["metadata"]["name"]))


def follow(context: Context, cluster: PartisanCluster, done: str) -> None:
    """Write what was done, and the commands by which the replacement of the pods goes on."""
    own = f"kubectl partisan -n {context.namespace}"
    context.write(f"{done} Follow it: {own} rollout status {cluster.name}")
    if cluster.spec.paused:
        context.write(f"{cluster.name} is paused: {own} resume {cluster.name}")


def pods_of(context: Context, cluster: str) -> list[Json]:
    """Return the cluster's pods, lowest ordinals first. Raises `KubectlError`."""
    path = core(context.namespace, "pods")
    pods = context.api.items(path, labels=naming.selector(cluster))
    return sorted(pods, key=lambda pod: ordinal(pod["metadata"]["name"]))


def pod_of(context: Context, node: str) -> Json:
    """Return a node's pod.

    Raises `CommandError` when there is none of that name; `KubectlError`.
    """
    try:
        pod = context.api.get(core(context.namespace, "pods", checked(node)))
    except KubectlError as error:
        if error.reason != "NotFound":
            raise
        pod = {"metadata": {}}
    if naming.CLUSTER_LABEL not in (pod["metadata"].get("labels") or {}):
        raise CommandError(
            f"there is no node {node!r} in namespace {context.namespace}: see kubectl get pods"
            f" -l {naming.CLUSTER_LABEL} -n {context.namespace}"
        )
    return pod


def ordinal(node: str) -> int:
    """Return the ordinal at the end of a node's name; -1 where there is none."""
    tail = node.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else -1


def node_path(pod: Mapping[str, Any], page: str) -> str:
    """Return the path of a pod's HTTP page, through the API server's proxy.

    The scheme depends on the pod: while pods are replaced, some serve TLS and some do not.
    """
    ports = (port for one in pod["spec"]["containers"] for port in one.get("ports") or ())
    tls = any(port.get("name") == node_http.TLS_PORT for port in ports)
    name = f"{'https' if tls else 'http'}:{pod['metadata']['name']}:{naming.HTTP_PORT}"
    return core(pod["metadata"]["namespace"], "pods", f"{name}/proxy/{page}")


def details_of(context: Context, pod: Mapping[str, Any]) -> NodeDetails:
    """Ask one node for its report.

    Raises `KubectlError` if there is no answer, or no valid one.
    """
    try:
        report = NodeDetails.model_validate(context.api.get(node_path(pod, "status")))
    except ValidationError as error:
        raise KubectlError("", f"its report is not valid: {error.errors()[0]['msg']}") from None
    if report.node != pod["metadata"]["name"]:
        raise KubectlError("", f"it reports as {report.node!r}")
    return report


def scrape(context: Context, pods: Iterable[Mapping[str, Any]]) -> Scrape:
    """Ask these pods' nodes for their reports, some at a time."""
    by_name = {pod["metadata"]["name"]: pod for pod in pods}

    def ask(pod: Mapping[str, Any]) -> tuple[NodeDetails, datetime] | str:
        try:
            return details_of(context, pod), context.now()
        except KubectlError as error:
            return str(error)

    with ThreadPoolExecutor(AT_ONCE) as executor:
        answers = dict(zip(by_name, executor.map(ask, by_name.values()), strict=True))
    came = {node: answer for node, answer in answers.items() if not isinstance(answer, str)}
    return Scrape(
        seen={
            node: Seen(details, by_name[node]["metadata"]["uid"], at)
            for node, (details, at) in came.items()
        },
        details={node: details for node, (details, _) in came.items()},
        failures={node: answer for node, answer in answers.items() if isinstance(answer, str)},
    )


def yaml_text(*items: Json) -> str:
    """Return objects as YAML documents."""
    return yaml.safe_dump_all(items, sort_keys=False, allow_unicode=True)


def events_of(context: Context, cluster: str) -> list[Json]:
    """Return the events of a cluster and its children, oldest first. Raises `KubectlError`."""
    events = context.api.items(core(context.namespace, "events"))
    own = [event for event in events if _concerns(_about(event).get("name", ""), cluster)]
    return sorted(own, key=event_time)


def event_time(event: Mapping[str, Any]) -> str:
    """Return when an event last happened, as text that sorts."""
    times = (event.get(key) for key in ("lastTimestamp", "eventTime", "firstTimestamp"))
    return str(next((time for time in times if time), ""))


def event_line(event: Mapping[str, Any]) -> str:
    """Return an event on one line."""
    about = _about(event)
    message = " ".join((event.get("message") or "").split())
    return (
        f"{event_time(event)} {event.get('type', '')} {about.get('kind')}/{about.get('name')}"
        f" {event.get('reason', '')}: {message}"
    )


def _about(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object of an event; the API server takes events without one, or its name."""
    found: Mapping[str, Any] = event.get("involvedObject") or {}
    return found


def _concerns(name: str, cluster: str) -> bool:
    """Whether a name is that of the cluster, or of one of its shards or pods."""
    return re.fullmatch(rf"{re.escape(cluster)}(-s\d+)?(-\d+)?", name) is not None


def _absent(context: Context, name: str) -> str:
    names = cluster_names(context)
    text = f"there is no PartisanCluster {name!r} in namespace {context.namespace}"
    if close := difflib.get_close_matches(name, names, n=1):
        return f"{text}: did you mean {close[0]}?"
    if names:
        return f"{text}: there is {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
    return f"{text}, nor any other: choose a namespace with -n, see kubectl get pcl -A"
