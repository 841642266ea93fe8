"""What a run has taken: asked of its nodes, of the kernel, and of the control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.footprints import footprints
from scale_tests.cluster.kube import ApiError, Cluster, core
from scale_tests.cluster.nodes import NodeStatus
from scale_tests.cluster.wait import StalledError, wait_for
from scale_tests.host import procfs
from scale_tests.localkube import processes
from scale_tests.localkube.settings import Settings
from scale_tests.measure.cells import Component, Member

SHIM = "containerd-shim"
"""The program that stands by each pod; one component for all of them."""

AT_ONCE = 16
PATIENCE_SECONDS = 10.0
TCP_SENT = 'partisan_tcp_bytes_total{direction="sent"}'
JOINED = "partisan_overlay_joined_timestamp_seconds"
CPU = "process_cpu_seconds_total"
RESIDENT = "process_resident_memory_bytes"


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Processor time since the process's start, and memory."""

    cpu_seconds: float
    memory_bytes: int


def ask(names: Sequence[str], question: Callable[[str], T]) -> dict[str, T]:
    """What each of these nodes answers, many asked at once; those that do not are asked again.

    `question` raises ApiError where it gets no answer. Of a node that gives none for
    `PATIENCE_SECONDS`, while no other does, there is none.
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
        wait_for("answers", go_on, lambda n: n == len(names), stall_seconds=PATIENCE_SECONDS)
    return {name: answers[name] for name in names if name in answers}


def members(
    nodes: Iterable[NodeStatus],
    measured: Mapping[str, Mapping[str, float]],
    usage: Mapping[str, Usage],
    *,
    applied: float,
    ready: Mapping[str, float],
) -> tuple[Member, ...]:
    """The nodes that answered; `applied` is in seconds since 1970, `ready` since then."""

    def since(moment: float | None) -> float | None:
        return None if moment is None else round(moment - applied, 3)

    return tuple(
        Member(
            name=node.name,
            seconds_to_boot=since(node.incarnation / 1e6),
            seconds_to_joined=since(measured.get(node.name, {}).get(JOINED)),
            seconds_to_ready=ready.get(node.name),
            increments=node.increments,
            bytes_payload=node.sync_payload_bytes,
            bytes_frames=sum(channel.sent_bytes for _, channel in node.channels),
            bytes_tcp=_whole(measured.get(node.name, {}).get(TCP_SENT)),
            cpu_seconds=usage[node.name].cpu_seconds,
            memory_bytes=usage[node.name].memory_bytes,
        )
        for node in nodes
    )


def usage_of_nodes(
    environment: Environment,
    namespace: str,
    nodes: Iterable[NodeStatus],
    measured: Mapping[str, Mapping[str, float]],
) -> tuple[str, dict[str, Usage]]:
    """The kind of memory that is meant, and each node's usage.

    On this machine the kernel tells each process's proportional share; elsewhere the nodes tell
    what is resident, in which pages that several share count with each.
    """
    told = {
        node.name: Usage(
            cpu_seconds=measured.get(node.name, {}).get(CPU, 0.0),
            memory_bytes=node.memory_bytes,
        )
        for node in nodes
    }
    if not environment.local:
        return "resident", told
    found = {
        footprint.pod: Usage(cpu_seconds=footprint.cpu_seconds, memory_bytes=footprint.pss)
        for footprint in footprints(namespace)
    }
    return "pss", told | found


def control_plane(environment: Environment, cluster: Cluster) -> dict[str, Usage]:
    """The operator, and on this machine Kubernetes's own processes, by name."""
    found = {}
    if environment.local:
        for name, record in processes.recorded(Settings()).items():
            found[name] = _usage([record.pid])
        found["containerd-shims"] = _usage(_named(SHIM))
    return found | _operator(cluster)


def _operator(cluster: Cluster) -> dict[str, Usage]:
    """The operator by its replicas' own word; nothing while none answers, as in an upgrade."""
    cpu_seconds, memory_bytes = 0.0, 0.0
    for pod in operator.operator_pods(cluster):
        path = f"http:{pod['metadata']['name']}:9090/proxy/metrics"
        try:
            samples = cluster.text(core(operator.NAMESPACE, "pods", path)).splitlines()
        except ApiError:
            continue
        told = dict(line.split()[:2] for line in samples if line.startswith("process_"))
        cpu_seconds += float(told.get(CPU, 0.0))
        memory_bytes += float(told.get(RESIDENT, 0.0))
    if not memory_bytes:
        return {}
    return {"operator": Usage(cpu_seconds=cpu_seconds, memory_bytes=int(memory_bytes))}


def between(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> tuple[Component, ...]:
    """What the parts of the control plane have taken from one look to the other.

    One that was restarted in between has taken what it has since; the shims are those of the cell.
    """
    return tuple(
        Component(
            name=name,
            cpu_seconds=round(_grown(usage.cpu_seconds, before.get(name)), 2),
            memory_bytes=usage.memory_bytes
            - (before[name].memory_bytes if name == "containerd-shims" and name in before else 0),
        )
        for name, usage in sorted(after.items())
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _grown(seconds: float, before: Usage | None) -> float:
    if before is None or seconds < before.cpu_seconds:
        return seconds
    return seconds - before.cpu_seconds


def _usage(pids: Iterable[int]) -> Usage:
    cpu_seconds, memory_bytes = 0.0, 0
    for pid in pids:
        try:
            memory = procfs.memory(pid)["Pss"]
            cpu_seconds += procfs.cpu_seconds(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue  # It has ended meanwhile.
        memory_bytes += memory
    return Usage(cpu_seconds=cpu_seconds, memory_bytes=memory_bytes)


def _named(name: str) -> list[int]:
    """The processes of this machine that run a program of this name, as far as names are kept."""
    found = []
    for entry in procfs.PROC.iterdir():
        if entry.name.isdigit():
            try:
                comm = (entry / "comm").read_text().strip()
            except (FileNotFoundError, ProcessLookupError):
                continue  # It has ended meanwhile.
            if comm.startswith(name):
                found.append(int(entry.name))
    return found
