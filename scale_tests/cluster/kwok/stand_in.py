"""Answers for all simulated pods: `python -m scale_tests.cluster.kwok.stand_in KUBECONFIG`.

One process listens on all their addresses and watches which pods run; `reports` has the answers.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scale_tests.cluster import programs
from scale_tests.cluster.async_kube import AsyncCluster
from scale_tests.cluster.kube import core
from scale_tests.cluster.kwok import reports
from scale_tests.cluster.kwok.control_plane import ControlPlane
from scale_tests.cluster.kwok.reports import Pod
from scale_tests.cluster.nodes import HTTP_PORT
from scale_tests.cluster.partisan import CLUSTER_LABEL
from scale_tests.localkube.api import Client

USER = "stand-in"
"""The stand-in's user at the API server."""

_WAITING_CONNECTIONS = 8192


class Directory:
    """The pods by their addresses."""

    def __init__(self, cluster: AsyncCluster) -> None:
        self._cluster = cluster
        self._pods: dict[str, Pod] = {}
        self._revisions: dict[tuple[str, str], str] = {}

    def at(self, address: str) -> Pod | None:
        """The pod that has an address."""
        return self._pods.get(address)

    async def follow(self) -> None:
        """Watches which pods run, for ever."""
        while True:
            # The API server ends a watch after a while; the next one begins with all there are.
            async for kind, pod in self._cluster.watch(
                "api/v1/pods", labelSelector=CLUSTER_LABEL, fieldSelector="status.phase=Running"
            ):
                if kind in ("ADDED", "MODIFIED"):
                    await self._put(pod)

    async def _put(self, pod: dict[str, Any]) -> None:
        """Puts a pod at its address, where it replaces any other.

        KWOK under load reports a pod as running more than once, each time at another address.
        """
        metadata, address = pod["metadata"], pod["status"]["podIP"]
        cluster = metadata["labels"][CLUSTER_LABEL]
        ordinal = int(metadata["name"].rpartition("-")[2])
        known = self._pods.get(address)
        if known is not None and (known.cluster, known.ordinal) == (cluster, ordinal):
            return
        self._pods[address] = Pod(
            cluster=cluster,
            ordinal=ordinal,
            started=time.time(),
            revision=await self._revision(metadata["namespace"], cluster),
        )

    async def _revision(self, namespace: str, cluster: str) -> str:
        """The revision of the configuration with which a cluster's first pod started."""
        key = namespace, cluster
        if key not in self._revisions:
            path = core(namespace, "configmaps", f"{cluster}-config")
            document = await self._cluster.request("GET", path)
            self._revisions[key] = reports.revision_in(document["data"]["node.config"])
        return self._revisions[key]


class Conversation(asyncio.Protocol):
    """One connection: one request, one answer."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remembers who is asked."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._pod = self._directory.at(transport.get_extra_info("sockname")[0])

    def data_received(self, data: bytes) -> None:
        """Answers when all of the request has come."""
        self._received += data
        answer = reports.answer(self._pod, self._received, time.time)
        if answer is not None:
            self._transport.write(answer)
            self._transport.close()


@contextmanager
def stand_in(plane: ControlPlane) -> Iterator[None]:
    """Answers for all pods of a control plane until the block is left. Raises ExpectedError."""
    module = "scale_tests.cluster.kwok.stand_in"
    argv = [sys.executable, "-m", module, str(plane.kubeconfig_of(USER))]
    address = f"http://{plane.settings.node_address}:{HTTP_PORT}/"
    probe = Client(plane.settings)

    def obstacle() -> str:
        found = probe.obstacle(address)
        # There is no pod at this address: an error says so.
        return "" if "no such pod" in found else found

    with programs.running("stand-in", argv, plane.settings.logs, obstacle=obstacle):
        yield


async def serve(kubeconfig: Path) -> None:
    """Answers until the process is ended."""
    async with AsyncCluster(kubeconfig) as cluster:
        directory = Directory(cluster)
        loop = asyncio.get_running_loop()
        await loop.create_server(
            lambda: Conversation(directory), "0.0.0.0", HTTP_PORT, backlog=_WAITING_CONNECTIONS
        )
        await directory.follow()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
