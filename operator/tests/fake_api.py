"""An API server with objects in memory, as far as the client and the loops need it.

It answers get, list, create, replace, apply and delete, counts requests by verb, and fails on
demand. Server-side apply is a deep merge, which is correct for a single manager that removes no
field; from a status it removes the fields that the manifest leaves out.
"""

import collections
import itertools
import math
from typing import Any

from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration

from partisan_operator.api.fence import Fence
from partisan_operator.api.kube import Kube

Json = dict[str, Any]
_UNDECLARED = "field not declared in schema"


def merged(live: Json, patch: Json) -> Json:
    """Return the live object with the patch in it."""
    result = dict(live)
    for key, value in patch.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


class FakeApi:
    """The server and its objects."""

    def __init__(self) -> None:
        """Make an empty server; `start` opens its port."""
        self.objects: dict[str, Json] = {}
        self.requests: collections.Counter[str] = collections.Counter()
        self.log: list[web.Request] = []
        self.failure: tuple[int, str] | None = None
        self.undeclared: tuple[str, ...] = ()
        """Fields of the workload's status that the CRD does not have."""

        self.refusals: dict[str, tuple[int, str]] = {}
        """Answers to writes that are refused, by the end of their path."""

        self.unlisted: dict[str, tuple[int, str]] = {}
        """Answers to lists that are refused, by the plural name of the kind."""

        self.verdict: Json = {}
        """The status of every review."""

        self.unserved = {"podmonitors"}
        """Plural names of kinds without a CRD."""
        self._ids = itertools.count(1)
        self._versions = itertools.count(1)

    async def start(self) -> Kube:
        """Serve on a free port; return a client."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        configuration = Configuration()
        configuration.host = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.client = ApiClient(configuration)
        fence = Fence()
        fence.open(math.inf)
        self.kube = Kube(self.client, fence)
        return self.kube

    async def stop(self) -> None:
        """Close client and port."""
        await self.client.close()
        await self._runner.cleanup()

    @property
    def writes(self) -> int:
        """Number of requests so far, without reads."""
        return sum(count for method, count in self.requests.items() if method != "GET")

    def put(self, path: str, manifest: Json) -> Json:
        """Store an object, as another client would."""
        metadata = {"uid": f"uid-{next(self._ids)}", "generation": 1} | manifest["metadata"]
        metadata.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        metadata["resourceVersion"] = str(next(self._versions))
        self.objects[path] = manifest | {"metadata": metadata}
        return self.objects[path]

    def written(self) -> None:
        """Record a write that took effect."""

    async def _answer(self, request: web.Request) -> web.Response:
        answer = await self._perform(request)
        if request.method != "GET" and answer.status < 400:
            self.written()
        # This may be the write after which everything fails.
        return self._failed() or answer

    def _failed(self) -> web.Response | None:
        if self.failure is None:
            return None
        code, message = self.failure
        return web.json_response({"kind": "Status", "message": message}, status=code)

    async def _perform(self, request: web.Request) -> web.Response:
        self.requests[request.method] += 1
        self.log.append(request)
        if failed := self._failed():
            return failed
        path = request.path.removesuffix("/status")
        if self.unserved & set(path.split("/")):
            return web.Response(status=404, text="404 page not found")
        for end, (code, message) in self.refusals.items():
            if request.method != "GET" and request.path.endswith(end):
                return web.json_response({"kind": "Status", "message": message}, status=code)
        body: Json = await request.json() if request.can_read_body else {}
        match request.method:
            case "GET" if path in self.objects:
                return web.json_response(self.objects[path])
            case "GET" if (plural := path.rpartition("/")[2]) in self.unlisted:
                code, message = self.unlisted[plural]
                return web.json_response({"message": message}, status=code)
            case "GET" if _lists(path):
                items = [
                    {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}
                    for key, item in self.objects.items()
                    if _holds(path, key) and _selected(request, item)
                ]
                return web.json_response({"items": items})
            case "POST" if path.endswith("reviews"):
                return web.json_response({**body, "status": self.verdict}, status=201)
            case "POST":
                return self._create(path, body)
            case "PUT" if path in self.objects:
                replaced = body["metadata"]["resourceVersion"]
                if self.objects[path]["metadata"]["resourceVersion"] != replaced:
                    return web.json_response({"message": "another version"}, status=409)
                return web.json_response(self.put(path, body))
            case "PATCH" if request.path.endswith("/status"):
                if unknown := [key for key in self.undeclared if key in _workload_of(body)]:
                    path = f".status.workload.{unknown[0]}"
                    message = f"failed to create typed patch object (a/b): {path}: {_UNDECLARED}"
                    return web.json_response({"message": message}, status=400)
                old = self.objects.get(path, {})
                return web.json_response(self.put(path, {**body, **old, "status": body["status"]}))
            case "PATCH":
                old = self.objects.get(path, {"metadata": {}})
                for name in ("resourceVersion", "uid"):
                    wanted = body.get("metadata", {}).get(name)
                    if wanted is not None and wanted != old["metadata"].get(name):
                        return web.json_response({"message": f"another {name}"}, status=409)
                new = self.put(path, merged(old, body))
                if old.get("spec", new.get("spec")) != new.get("spec"):
                    new["metadata"]["generation"] += 1
                return web.json_response(new)
            case "DELETE" if path in self.objects:
                if self.objects[path]["metadata"]["uid"] != body["preconditions"]["uid"]:
                    return web.json_response({"message": "another uid"}, status=409)
                return web.json_response(self.objects.pop(path))
        return web.json_response({"kind": "Status", "message": "not found"}, status=404)

    def _create(self, path: str, body: Json) -> web.Response:
        name = body["metadata"].get("name") or f"generated-{next(self._ids)}"
        if f"{path}/{name}" in self.objects:
            return web.json_response({"message": "exists"}, status=409)
        body["metadata"]["name"] = name
        return web.json_response(self.put(f"{path}/{name}", body), status=201)


def _workload_of(body: Json) -> Json:
    found: Json = body["status"].get("workload") or {}
    return found


def _lists(path: str) -> bool:
    """Whether a path is that of a list: in one namespace, or of a named group in all of them."""
    group, _, rest = path.rpartition("/namespaces/")
    return rest.count("/") == 1 if group else path.startswith("/apis/") and path.count("/") == 4


def _holds(path: str, key: str) -> bool:
    """Whether the list at a path has the object with that key."""
    collection = key.rpartition("/")[0]
    group, _, rest = collection.partition("/namespaces/")
    return path in (collection, f"{group}/{rest.rpartition('/')[2]}")


def _selected(request: web.Request, item: Json) -> bool:
    labels = item["metadata"].get("labels") or {}
    phase = (item.get("status") or {}).get("phase")
    return _matches(request.query.get("labelSelector", ""), labels) and (
        # No other field selector is needed here.
        not request.query.get("fieldSelector", "").startswith("status.phase=")
        or _matches(request.query["fieldSelector"], {"status.phase": phase})
    )


def _matches(selector: str, values: Json) -> bool:
    terms = (term.partition("=") for term in selector.split(",") if term)
    return all(
        values.get(key) == value if equals else key in values for key, equals, value in terms
    )
