"""An API server for Kopf: discovery, lists and watches, whose kinds come and go."""

import asyncio
import collections
import itertools
import json
from pathlib import Path
from typing import Any

from aiohttp import web

Json = dict[str, Any]
BUILT_IN = (
    "api/v1/namespaces",
    "api/v1/services",
    "api/v1/configmaps",
    "apis/apps/v1/statefulsets",
    "apis/policy/v1/poddisruptionbudgets",
    "apis/networking.k8s.io/v1/networkpolicies",
)
CLUSTERS = "apis/partisan.dev/v1alpha1/partisanclusters"
VERBS = ["get", "list", "watch", "patch"]


class WatchedApi:
    """The server: it serves the kinds of `served`, each with some objects."""

    def __init__(self) -> None:
        """Create a server with the kinds that every API server has."""
        self.served = set(BUILT_IN)
        self.objects: dict[str, list[Json]] = {}
        self.selectors: dict[str, str] = {}
        """The label selector of the last watch of each kind."""

        self.hanging: set[str] = set()
        """Kinds whose requests and open watches are never answered."""

        self.unanswered: collections.Counter[str] = collections.Counter()

        self._open: dict[str, list[asyncio.Queue[Json | None]]] = {}
        self._versions = itertools.count(1)

    async def start(self, directory: Path) -> Path:
        """Serve on a free port; return a kubeconfig."""
        application = web.Application()
        application.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        server = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        config = {
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path = directory / "kubeconfig"
        path.write_text(json.dumps(config))
        return path

    async def stop(self) -> None:
        """End all watches and close the port."""
        for kind in list(self._open):
            self._end(kind)
        await self._runner.cleanup()

    def add(self, kind: str, **metadata: Any) -> None:
        """Create an object, and report it to the watches."""
        version = str(next(self._versions))
        item = {"metadata": {"namespace": "default", "resourceVersion": version, **metadata}}
        self.objects.setdefault(kind, []).append(item)
        self.report(kind, "ADDED", item)

    def report(self, kind: str, event: str, item: Json) -> None:
        """Report an event to the watches."""
        if kind in self.hanging:
            return
        for queue in self._open.get(kind, ()):
            queue.put_nowait({"type": event, "object": item})

    def remove(self, kind: str) -> None:
        """Stop serving a kind: its objects are deleted, and its watches end."""
        self.served.discard(kind)
        for item in self.objects.pop(kind, ()):
            self.report(kind, "DELETED", item)
        self._end(kind)

    def watched(self, kind: str) -> bool:
        """Whether a kind is watched."""
        return bool(self._open.get(kind))

    def resources(self, group: str, version: str) -> frozenset[str]:
        """Return the served plural names of a group and version."""
        prefix = f"apis/{group}/{version}/"
        return frozenset(k.removeprefix(prefix) for k in self.served if k.startswith(prefix))

    def _end(self, kind: str) -> None:
        for queue in self._open.pop(kind, ()):
            queue.put_nowait(None)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.strip("/")
        if path == "api":
            return web.json_response({"versions": ["v1"]})
        if path == "apis":
            found = {tuple(k.split("/")[1:3]) for k in self.served if k.startswith("apis/")}
            groups = [
                {"name": g, "versions": [{"version": v}], "preferredVersion": {"version": v}}
                for g, v in found
            ]
            return web.json_response({"groups": groups})
        kinds = [kind for kind in self.served if kind.rpartition("/")[0] == path]
        if kinds:
            names = [kind.rpartition("/")[2] for kind in kinds]
            entry = {"singularName": "", "kind": "K", "namespaced": True, "verbs": VERBS}
            return web.json_response({"resources": [{"name": n, **entry} for n in names]})
        if path not in self.served:
            return web.Response(status=404, text="404 page not found\n")
        if path in self.hanging:
            self.unanswered[path] += 1
            await asyncio.Event().wait()
        if "watch" in request.query:
            return await self._watch(request, path)
        version = str(next(self._versions))
        items = self.objects.get(path, [])
        return web.json_response({"metadata": {"resourceVersion": version}, "items": items})

    async def _watch(self, request: web.Request, kind: str) -> web.StreamResponse:
        self.selectors[kind] = request.query.get("labelSelector", "")
        queue: asyncio.Queue[Json | None] = asyncio.Queue()
        self._open.setdefault(kind, []).append(queue)
        response = web.StreamResponse()
        await response.prepare(request)
        since = int(request.query.get("resourceVersion", "0"))
        for item in self.objects.get(kind, ()):
            if int(item["metadata"]["resourceVersion"]) > since:
                queue.put_nowait({"type": "ADDED", "object": item})
        while (event := await queue.get()) is not None:
            await response.write(json.dumps(event).encode() + b"\n")
        return response
