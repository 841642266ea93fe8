"""The reports of the nodes of a cluster, each read through the API server."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import urllib3
from pydantic import TypeAdapter

from scale_tests.cluster import views
from scale_tests.cluster.kube import ApiError, Cluster, Json, core

HTTP_PORT = 8080
"""Where a node serves `/status`."""


@dataclass(frozen=True, kw_only=True)
class ChannelCounters:
    """One node's counters of one channel, since its process started."""

    sent_messages: int
    sent_bytes: int
    dropped: int


@dataclass(frozen=True, kw_only=True)
class NodeStatus:
    """The report of one node at one time (`GET /status`)."""

    name: str
    incarnation: int
    joined: bool
    active: tuple[str, ...]
    increments: int = 0
    value: int = 0
    converged: bool = False
    phase: str = ""
    digest: str = ""
    memory_bytes: int
    sync_payload_bytes: int = 0
    channels: tuple[tuple[str, ChannelCounters], ...]
    version: str
    otp: str
    counted: int | None = None
    """The count of its own actor in its replica, while `increments` is the node's own; None where a
    replica keeps no counts by actor."""
    started_at: float | None = None
    finished_at: float | None = None
    """When it learnt that all were done, in seconds since 1970, as `started_at`."""


_NODE = TypeAdapter(NodeStatus)


def node_status(item: Json) -> NodeStatus:
    """The dataclass of a node's `/status`. A node without a workload counts nothing."""
    overlay, workload = item["overlay"], item.get("workload") or {}
    return _NODE.validate_python(
        {
            **workload,
            **item,
            "name": item["node"],
            "joined": overlay["joined"],
            "active": overlay["active"],
            "channels": sorted(item["channels"].items()),
            "counted": (workload.get("entry_of") or {}).get(workload.get("actor")),
        }
    )


def read_node(cluster: Cluster, namespace: str, pod: str, *, timeout: float = 3.0) -> NodeStatus:
    """Reads a node through the API server's proxy, which works on any cluster. Raises ApiError."""
    return node_status(json.loads(read_page(cluster, namespace, pod, "status", timeout=timeout)))


def read_page(
    cluster: Cluster, namespace: str, pod: str, page: str, *, timeout: float = 30.0
) -> str:
    """A page of a node, by TLS where the node serves nothing else. Raises ApiError."""

    def read(scheme: str) -> str:
        path = core(namespace, "pods", f"{scheme}:{pod}:{HTTP_PORT}/proxy/{page}")
        return cluster.request("GET", path, timeout=timeout).decode(errors="replace")

    try:
        return read("http")
    except ApiError as error:
        # An alert of TLS, as the API server reads it.
        if "malformed HTTP response" not in str(error):
            raise
    return read("https")


def read_nodes(
    cluster: Cluster, namespace: str, names: Sequence[str], *, timeout: float = 3.0
) -> list[NodeStatus]:
    """Reads these nodes, without those that do not answer yet, or within `timeout` seconds."""

    def read(name: str) -> NodeStatus | None:
        try:
            return read_node(cluster, namespace, name, timeout=timeout)
        except ApiError:
            return None

    return _answers(read, names)


def read_metrics(cluster: Cluster, namespace: str, pod: str) -> dict[str, float]:
    """A node's metrics: values by name and labels as written. Raises ApiError."""
    lines = read_page(cluster, namespace, pod, "metrics").splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {series: float(value) for series, value in samples}


def read_nodes_at(addresses: Mapping[str, str], pool: urllib3.PoolManager) -> list[NodeStatus]:
    """As `read_nodes`, from pods' own addresses by name, where this machine reaches them.

    This takes a tenth of the time, so that 256 nodes can be read every few seconds.
    """

    def read(address: str) -> NodeStatus | None:
        try:
            answer = pool.request("GET", f"http://{address}:{HTTP_PORT}/status")
        except urllib3.exceptions.HTTPError:
            return None
        return node_status(answer.json()) if answer.status == 200 else None

    return [node for node in _answers(read, addresses.values()) if node.name in addresses]


def _answers(read: Callable[[str], NodeStatus | None], nodes: Iterable[str]) -> list[NodeStatus]:
    with ThreadPoolExecutor(max_workers=16) as executor:
        return [node for node in executor.map(read, nodes) if node is not None]


def components(nodes: Iterable[NodeStatus]) -> int:
    """The number of connected components of the nodes' active views, as `views.components`."""
    return len(views.components({node.name: frozenset(node.active) for node in nodes}))
