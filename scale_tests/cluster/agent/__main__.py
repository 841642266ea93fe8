"""`python -m scale_tests.cluster.agent [--pods N] -- COMMAND`: runs a command with the agent."""

import argparse
import asyncio
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from scale_tests.cluster.agent import machine, sandbox
from scale_tests.cluster.agent.pod_manager import PodManager
from scale_tests.cluster.async_kube import APPLY, AsyncCluster
from scale_tests.cluster.fleet import build_release
from scale_tests.localkube.settings import Settings

_APPLY = {"fieldManager": "partisan-node-agent", "force": "true", "content_type": APPLY}
_RENEW_SECONDS = 10.0
_AGAIN_SECONDS = 1.0


@asynccontextmanager
async def registered(api: AsyncCluster, pods: int, address: str) -> AsyncIterator[None]:
    """The agent's Node, and its addresses, while the block runs."""
    version = (await api.request("GET", "version"))["gitVersion"]
    node = machine.node(pods=pods, version=version, address=address)
    route = ["route", "replace", "local", str(sandbox.NETWORK), "dev", "lo"]
    subprocess.run(["ip", *route], check=True)
    place = f"api/v1/nodes/{machine.NAME}"
    await api.request("PATCH", place, {**node, "status": {}}, **_APPLY)
    await api.request("PATCH", f"{place}/status", node, **_APPLY)
    try:
        yield
    finally:
        await api.delete(place)
        await api.delete(machine.LEASE)
        subprocess.run(["ip", "route", "del", *route[2:]], check=False)


def _end(command: asyncio.subprocess.Process) -> None:
    if command.returncode is None:
        command.terminate()


async def renew(api: AsyncCluster) -> None:
    """Renews the Lease, for ever."""
    while True:
        try:
            await api.request("PATCH", machine.LEASE, machine.lease(), **_APPLY)
        except (aiohttp.ClientError, TimeoutError) as error:
            print(f"node agent: the Lease was not renewed: {error}", file=sys.stderr)
        await asyncio.sleep(_RENEW_SECONDS)


async def follow(api: AsyncCluster, manager: PodManager) -> None:
    """Gives the manager the pods of the agent's Node, for ever."""
    where = {"fieldSelector": f"spec.nodeName={machine.NAME}"}
    while True:
        try:
            async for kind, pod in api.watch("api/v1/pods", **where):
                if kind in ("ADDED", "MODIFIED"):
                    manager.see(pod)
                elif kind == "DELETED":
                    manager.gone(pod)
        except (aiohttp.ClientError, TimeoutError) as error:
            print(f"node agent: the watch ended: {error}", file=sys.stderr)
        await asyncio.sleep(_AGAIN_SECONDS)


async def run(arguments: argparse.Namespace, release: Path) -> int:
    """The agent, until the command has ended; returns its status."""
    settings = Settings()
    # Volumes are in memory, as the pods' own.
    with tempfile.TemporaryDirectory(prefix="partisan-pods-", dir="/dev/shm") as directory:
        Path(directory).chmod(0o711)
        connector = aiohttp.TCPConnector(force_close=True, limit=0)
        async with (
            AsyncCluster(settings.kubeconfig) as api,
            aiohttp.ClientSession(connector=connector) as probes,
            registered(api, arguments.pods, settings.node_address),
        ):
            manager = PodManager(
                api, probes, release, directory=Path(directory), host=settings.node_address
            )
            tasks = [asyncio.create_task(renew(api)), asyncio.create_task(follow(api, manager))]
            command = await asyncio.create_subprocess_exec(*arguments.command)
            # What ends the agent ends the command, and then the agent with all pods.
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, _end, command)
            try:
                return await command.wait()
            finally:
                for task in tasks:
                    task.cancel()
                manager.end()


def main() -> int:
    """Runs the command line; returns the command's status."""
    parser = argparse.ArgumentParser(
        prog="python -m scale_tests.cluster.agent", description=__doc__
    )
    parser.add_argument(
        "--pods", type=int, default=1100, help="for how many there is room (default: %(default)s)"
    )
    parser.add_argument("command", nargs="+", help="the command to run, after --")
    arguments = parser.parse_args()
    # A descriptor for each process, and one for each probe.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return asyncio.run(run(arguments, build_release()))


if __name__ == "__main__":
    sys.exit(main())
