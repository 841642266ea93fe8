"""The processes of nodes in pods of this very machine, and the runtimes that keep them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from scale_tests.cluster.kube import Json
from scale_tests.host import procfs
from scale_tests.localkube.nodes import named
from scale_tests.localkube.settings import Settings


def processes(namespace: str) -> dict[str, int]:
    """The Erlang machine of each pod of a namespace, by its name: its process. Needs to be root."""
    found: dict[str, int] = {}
    for pid in procfs.named("beam.smp"):
        with suppress(FileNotFoundError, ProcessLookupError):  # It has ended in between.
            environment = procfs.environment(pid)
            if environment.get("POD_NAMESPACE") == namespace:
                found[environment["POD_NAME"]] = pid
    return found


def containerd_socket(pod: Json) -> Path:
    """The socket of the containerd of the local cluster's node that a pod is on."""
    return named(Settings(), pod["spec"]["nodeName"]).containerd_socket
