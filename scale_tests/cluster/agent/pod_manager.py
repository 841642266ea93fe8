"""The lifecycle of each pod: started, probed, started again, ended."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from scale_tests.cluster.agent import sandbox
from scale_tests.cluster.agent.machine import Seen, status
from scale_tests.cluster.agent.sandbox import Sandbox
from scale_tests.cluster.async_kube import MERGE, AsyncCluster
from scale_tests.cluster.fleet import end
from scale_tests.cluster.kube import Json, core, moment
from scale_tests.cluster.nodes import HTTP_PORT

STARTING = 4
"""Processes that boot at a time: more would only wait for each other's processors."""

_LAST = ("choom", "-n", "1000", "--", "chrt", "--idle", "0")
"""Instead of a cgroup's small share of CPU and its OOM score: the control plane has the processors
first, and is killed last. Niceness is not enough: several hundred nodes that are nice together
outweigh an API server that is not."""

_POLL_SECONDS = 0.25
_RESTART_SECONDS, _LONGEST_RESTART_SECONDS = 1.0, 300.0
_KEPT_SECONDS = 10.0
"""The time for which the contents of a ConfigMap or a Secret are cached."""


@dataclass
class ManagedPod:
    """One pod that the agent runs."""

    pod: Json
    room: Sandbox
    seen: Seen
    process: subprocess.Popen[bytes] | None = None
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class PodManager:
    """Keeps the pods of the agent's Node, which run a release below a directory.

    `host` is the machine's address, on which its resolver answers, too.
    """

    def __init__(
        self,
        api: AsyncCluster,
        probes: aiohttp.ClientSession,
        release: Path,
        *,
        directory: Path,
        host: str,
    ) -> None:
        self._api, self._probes = api, probes
        self._program = str(release / "bin" / "partisan_node")
        self._directory, self._host = directory, host
        self._pods: dict[str, ManagedPod] = {}
        self._addresses = sandbox.addresses()
        self._starting = asyncio.Semaphore(STARTING)
        self._documents: dict[str, asyncio.Task[Json]] = {}

    def see(self, pod: Json) -> None:
        """Takes a pod on, or notes that it is to end."""
        uid = pod["metadata"]["uid"]
        managed = self._pods.get(uid)
        if managed is None:
            address, now = next(self._addresses), moment()
            managed = self._pods[uid] = ManagedPod(
                pod=pod,
                room=Sandbox(self._directory / uid),
                seen=Seen(address=address, host=self._host, began=now, started_at=now),
            )
            managed.task = asyncio.create_task(self._keep(managed))
            managed.task.add_done_callback(partial(_tell_if_lost, pod["metadata"]["name"]))
        managed.pod = pod
        if "deletionTimestamp" in pod["metadata"]:
            managed.ending.set()

    def gone(self, pod: Json) -> None:
        """Ends a pod whose object is not there any more."""
        if managed := self._pods.get(pod["metadata"]["uid"]):
            managed.ending.set()

    def end(self) -> None:
        """Kills what still runs."""
        all_pods = self._pods.values()
        for managed in all_pods:
            if managed.task is not None:
                managed.task.cancel()
        end([managed.process for managed in all_pods if managed.process is not None])
        for managed in all_pods:
            managed.room.remove()

    async def _keep(self, managed: ManagedPod) -> None:
        """A pod from its beginning to its end."""
        wait = _RESTART_SECONDS
        # One that is seen while it goes, perhaps once more, has nothing to read any more.
        if not managed.ending.is_set():
            await self._furnish(managed)
        while not managed.ending.is_set():
            async with self._starting:
                process = self._start(managed)
                managed.process = process
                ended = asyncio.create_task(_ended(process))
                await self._tell(managed, started=False, ready=False, started_at=moment())
                await self._until_it_answers(managed, process)
            probing = asyncio.create_task(self._probe(managed, process))
            ending = asyncio.create_task(managed.ending.wait())
            await asyncio.wait({ended, ending}, return_when=asyncio.FIRST_COMPLETED)
            probing.cancel()
            ending.cancel()
            if managed.ending.is_set():
                await self._stop(managed, process, ended)
            else:
                seen = managed.seen
                await self._tell(managed, started=False, ready=False, restarts=seen.restarts + 1)
                with suppress(TimeoutError):
                    await asyncio.wait_for(managed.ending.wait(), wait)
                wait = min(2 * wait, _LONGEST_RESTART_SECONDS)
        managed.room.remove()
        await self._forget(managed)

    async def _furnish(self, managed: ManagedPod) -> None:
        namespace = managed.pod["metadata"]["namespace"]
        for volume, (resource, name) in sandbox.sources(managed.pod).items():
            content = {}
            if resource:
                document = await self._document(core(namespace, resource, name))
                content = sandbox.files(resource, document)
            managed.room.write(volume, content, _user(managed.pod))

    async def _document(self, path: str) -> Json:
        """An object that many pods read, from a cache."""
        if path not in self._documents:
            self._documents[path] = asyncio.create_task(self._api.request("GET", path))
            asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._documents.pop, path, None)
        return await self._documents[path]

    def _start(self, managed: ManagedPod) -> subprocess.Popen[bytes]:
        room, user = managed.room, _user(managed.pod)
        flags = room.resolver(managed.pod, self._host)
        with (room.directory / "log").open("ab") as log:
            return subprocess.Popen(
                [*_LAST, self._program, "foreground", *flags],
                env=room.environment(managed.pod, managed.seen.address),
                cwd=room.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                user=user,
                group=user,
                extra_groups=[],
                start_new_session=True,
            )

    async def _until_it_answers(
        self, managed: ManagedPod, process: subprocess.Popen[bytes]
    ) -> None:
        while process.poll() is None and not managed.ending.is_set():
            alive = managed.pod["spec"]["containers"][0]["livenessProbe"]
            if await self._passes(managed, alive | {"timeoutSeconds": 1}):
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def _probe(self, managed: ManagedPod, process: subprocess.Popen[bytes]) -> None:
        """Asks as a kubelet does: whether it has started, is ready, and is alive."""
        container = managed.pod["spec"]["containers"][0]
        start, ready, alive = (
            container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")
        )
        while not await self._passes(managed, start):
            await asyncio.sleep(start["periodSeconds"])
        await self._tell(managed, started=True, ready=True)
        await asyncio.gather(
            self._stay_ready(managed, ready), self._stay_alive(managed, alive, process)
        )

    async def _stay_ready(self, managed: ManagedPod, probe: Json) -> None:
        failures = 0
        while True:
            await asyncio.sleep(probe["periodSeconds"])
            failures = 0 if await self._passes(managed, probe) else failures + 1
            if failures == 0 and not managed.seen.ready:
                await self._tell(managed, ready=True)
            if failures == probe["failureThreshold"]:
                await self._tell(managed, ready=False)

    async def _stay_alive(
        self, managed: ManagedPod, probe: Json, process: subprocess.Popen[bytes]
    ) -> None:
        failures = 0
        while failures < probe["failureThreshold"]:
            await asyncio.sleep(probe["periodSeconds"])
            failures = 0 if await self._passes(managed, probe) else failures + 1
        process.kill()

    async def _passes(self, managed: ManagedPod, probe: Json) -> bool:
        asked = probe["httpGet"]
        scheme = asked.get("scheme", "HTTP").lower()
        try:
            async with self._probes.get(
                f"{scheme}://{managed.seen.address}:{HTTP_PORT}{asked['path']}",
                timeout=aiohttp.ClientTimeout(total=probe.get("timeoutSeconds", 1)),
                # As a kubelet: it does not verify.
                ssl=False,
            ) as answer:
                return answer.status < 400
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def _stop(
        self, managed: ManagedPod, process: subprocess.Popen[bytes], ended: asyncio.Task[None]
    ) -> None:
        """Ends a process as its pod's deletion asks for, which may be shortened meanwhile."""
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        waited = 0.0
        while not ended.done():
            grace = managed.pod["metadata"].get("deletionGracePeriodSeconds", 0)
            if waited >= grace:
                process.kill()
            await asyncio.wait({ended}, timeout=1.0)
            waited += 1.0

    async def _tell(self, managed: ManagedPod, **changes: Any) -> None:
        """Writes the pod's status, as it is with these changes."""
        managed.seen = replace(managed.seen, **changes)
        metadata = managed.pod["metadata"]
        path = core(metadata["namespace"], "pods", f"{metadata['name']}/status")
        body = {"metadata": {"uid": metadata["uid"]}, "status": status(managed.pod, managed.seen)}
        # Refused where the pod is gone, or another of its name is there.
        with suppress(aiohttp.ClientResponseError):
            await self._api.request("PATCH", path, body, content_type=MERGE)

    async def _forget(self, managed: ManagedPod) -> None:
        metadata = managed.pod["metadata"]
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        await self._api.delete(core(metadata["namespace"], "pods", metadata["name"]), options)
        del self._pods[metadata["uid"]]


def _user(pod: Json) -> int:
    """The user of a pod's process."""
    return int(pod["spec"]["securityContext"]["runAsUser"])


def _tell_if_lost(name: str, task: asyncio.Task[None]) -> None:
    """Prints why a pod is no longer managed."""
    if not task.cancelled() and (error := task.exception()) is not None:
        print(f"node agent: pod {name} is kept no longer: {error!r}", file=sys.stderr)


async def _ended(process: subprocess.Popen[bytes]) -> None:
    """Waits for a process without a thread of its managed."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    descriptor = os.pidfd_open(process.pid)
    loop.add_reader(descriptor, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    process.wait()
