"""The processes of nodes in pods of this very machine: memory, and the runtimes that keep them."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scale_tests.cluster.kube import Json
from scale_tests.host import procfs
from scale_tests.localkube.nodes import named
from scale_tests.localkube.settings import Settings


def processes(namespace: str) -> dict[str, int]:
    """The Erlang machine of each pod of a namespace, by its name: its process. Needs to be root."""
    found: dict[str, int] = {}
    for pid in procfs.named("beam.smp"):
        with suppress(*procfs.ENDED):
            environment = procfs.environment(pid)
            if environment.get("POD_NAMESPACE") == namespace:
                found[environment["POD_NAME"]] = pid
    return found


def containerd_socket(pod: Json) -> Path:
    """The socket of the containerd of the local cluster's node that a pod is on."""
    return named(Settings(), pod["spec"]["nodeName"]).containerd_socket


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """One node's process: memory in bytes, processor time in seconds since its start.

    `pss` is the proportional set size; `private` is what would be freed if the process ended.
    """

    pod: str
    pss: int
    private: int
    cpu_seconds: float


def footprints(namespace: str) -> list[Footprint]:
    """The Erlang machines of all pods of a namespace. Needs to be root."""
    found = []
    for pod, pid in sorted(processes(namespace).items()):
        with suppress(*procfs.ENDED):
            memory, cpu = procfs.memory(pid), procfs.cpu_seconds(pid)
            private = memory["Private_Clean"] + memory["Private_Dirty"]
            found.append(Footprint(pod=pod, pss=memory["Pss"], private=private, cpu_seconds=cpu))
    return found
