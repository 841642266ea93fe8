"""Usage and times of a run: from its nodes, the kernel, and the control plane."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple, TypeVar

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, core
from scale_tests.cluster.local_nodes import footprints
from scale_tests.cluster.monitoring.exposition import Page
from scale_tests.cluster.nodes import NodeStatus
from scale_tests.cluster.wait import StalledError, wait_for
from scale_tests.host import procfs
from scale_tests.localkube import processes
from scale_tests.localkube.settings import Settings
from scale_tests.measure.cells import Component, Member

SHIM = "containerd-shim"
"""The program that stands by each pod; one component for all of them."""

SHIMS = "containerd-shims"

AT_ONCE = 16
ANSWER_SECONDS = 10.0
TCP_SENT = 'partisan_tcp_bytes_total{direction="sent"}'
JOINED = "partisan_overlay_joined_timestamp_seconds"
CPU = "process_cpu_seconds_total"
RESIDENT = "process_resident_memory_bytes"

T = TypeVar("T")
Metrics = Mapping[str, Mapping[str, float]]
"""The metrics of nodes, by their names."""


class Usage(NamedTuple):
    """Processor time since the process's start, and memory."""

    cpu_seconds: float
    memory_bytes: int


def ask(names: Sequence[str], question: Callable[[str], T]) -> dict[str, T]:
    """The answers of these nodes, many asked at once; those that do not answer are asked again.

    `question` raises ApiError where it gets no answer. A node that gives none for `ANSWER_SECONDS`,
    while no other does, is left out.
    """
    answers: dict[str, T] = {}

    def attempt(name: str) -> None:
        with suppress(ApiError):
            answers[name] = question(name)

    def go_on() -> int:
        with ThreadPoolExecutor(max_workers=AT_ONCE) as executor:
            list(executor.map(attempt, [name for name in names if name not in answers]))
        return len(answers)

    with suppress(StalledError):
        wait_for("answers", go_on, lambda n: n == len(names), stall_seconds=ANSWER_SECONDS)
    return {name: answers[name] for name in names if name in answers}


def members(
    nodes: Iterable[NodeStatus],
    metrics: Metrics,
    usage: Mapping[str, Usage],
    *,
    applied: float,
    ready: Mapping[str, float],
) -> tuple[Member, ...]:
    """The nodes that answered; `applied` is in seconds since 1970, `ready` since then."""

    def member(node: NodeStatus) -> Member:
        own = metrics.get(node.name, {})
        joined, sent = own.get(JOINED), own.get(TCP_SENT)
        return Member(
            name=node.name,
            seconds_to_boot=round(node.incarnation / 1e6 - applied, 3),
            seconds_to_joined=None if joined is None else round(joined - applied, 3),
            seconds_to_ready=ready.get(node.name),
            increments=node.increments,
            bytes_payload=node.sync_payload_bytes,
            bytes_frames=sum(channel.sent_bytes for _, channel in node.channels),
            bytes_tcp=None if sent is None else int(sent),
            **usage[node.name]._asdict(),
        )

    return tuple(map(member, nodes))


def usage_of_nodes(
    environment: Environment, namespace: str, nodes: Iterable[NodeStatus], metrics: Metrics
) -> tuple[str, dict[str, Usage]]:
    """The kind of memory that is meant, and each node's usage.

    On this machine the kernel reports each process's proportional share; elsewhere the nodes report
    their resident memory, in which each counts shared pages in full.
    """
    reported = {
        node.name: Usage(metrics.get(node.name, {}).get(CPU, 0.0), node.memory_bytes)
        for node in nodes
    }
    if not environment.local:
        return "resident", reported
    found = {each.pod: Usage(each.cpu_seconds, each.pss) for each in footprints(namespace)}
    return "pss", reported | found


def control_plane(environment: Environment, cluster: Cluster) -> dict[str, Usage]:
    """The operator, and on this machine Kubernetes's own processes, by name."""
    found = {}
    if environment.local:
        for name, record in processes.recorded(Settings()).items():
            found[name] = _usage([record.pid])
        found[SHIMS] = _usage(procfs.named(SHIM))
    return found | _operator(cluster)


def _operator(cluster: Cluster) -> dict[str, Usage]:
    """The operator, as its replicas report; empty while none answers, as in an upgrade."""
    pages = []
    for pod in operator.operator_pods(cluster):
        path = f"http:{pod['metadata']['name']}:9090/proxy/metrics"
        with suppress(ApiError):
            pages.append(Page.parse(cluster.text(core(operator.NAMESPACE, "pods", path))))
    cpu, memory = (sum(page.total(name) for page in pages) for name in (CPU, RESIDENT))
    return {"operator": Usage(cpu, int(memory))} if memory else {}


def between(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> tuple[Component, ...]:
    """The usage of the parts of the control plane from one reading to the other.

    One that was restarted in between has used what it has since; the shims are those of the cell.
    """

    def component(name: str, usage: Usage) -> Component:
        was = before.get(name, Usage(0.0, 0))
        is_same = usage.cpu_seconds >= was.cpu_seconds
        return Component(
            name=name,
            cpu_seconds=round(usage.cpu_seconds - (was.cpu_seconds if is_same else 0), 2),
            memory_bytes=usage.memory_bytes - (was.memory_bytes if name == SHIMS else 0),
        )

    return tuple(component(name, usage) for name, usage in sorted(after.items()))


def _usage(pids: Iterable[int]) -> Usage:
    cpu_seconds, memory_bytes = 0.0, 0
    for pid in pids:
        with suppress(*procfs.ENDED):
            memory = procfs.memory(pid)["Pss"]
            cpu_seconds += procfs.cpu_seconds(pid)
            memory_bytes += memory
    return Usage(cpu_seconds, memory_bytes)
