"""The only module that talks to the API server.

Objects travel as the JSON that they are on the wire: the children's builders make it, and server-
side apply compares it field by field. The official client brings the configuration, TLS, tokens
and their renewal.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration

from partisan_operator.api import metrics
from partisan_operator.api.fence import Fence, FencedError
from partisan_operator.children.child import Manifest
from partisan_operator.models import PartisanCluster
from partisan_operator.models.cluster import API_VERSION, GROUP, KIND, PLURAL, VERSION

FIELD_MANAGER = "partisan-operator"
REQUEST_TIMEOUT = 30.0

_PATHS = {
    # The namespace itself: an object without a name of its own in it.
    "Namespace": ("api/v1", ""),
    "StatefulSet": ("apis/apps/v1", "statefulsets"),
    "Service": ("api/v1", "services"),
    "ConfigMap": ("api/v1", "configmaps"),
    "Secret": ("api/v1", "secrets"),
    "Pod": ("api/v1", "pods"),
    "Event": ("api/v1", "events"),
    "EndpointSlice": ("apis/discovery.k8s.io/v1", "endpointslices"),
    "Certificate": ("apis/cert-manager.io/v1", "certificates"),
    "Lease": ("apis/coordination.k8s.io/v1", "leases"),
    "NetworkPolicy": ("apis/networking.k8s.io/v1", "networkpolicies"),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets"),
    "PodMonitor": ("apis/monitoring.coreos.com/v1", "podmonitors"),
    KIND: (f"apis/{GROUP}/{VERSION}", PLURAL),
}
_UNDECLARED = re.compile(r"\.status\.([\w.]+)[^:\s]*: field not declared in schema")
"""What the API server says of a field that the definition does not have: its path in the status.
Of one within a list the whole list goes."""

_NOT_SERVED = "404 page not found"
"""What the API server answers where no kind of that name is served; of an object that is not there
it says which."""

_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class KubeError(Exception):
    """The API server refused a request, or did not answer."""

    def __init__(self, code: int, message: str, request: str = "") -> None:
        """Make an error; `code` is the HTTP status, 0 when there was no answer.

        `request` says in words what was asked for, such as `apply ConfigMap ads-config`.
        """
        super().__init__(message)
        self.code = code
        self.request = request

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed a moment later.

        It need not: an apply of a wrong structure is answered with 500 as well.
        """
        return self.code in (0, 409, 429) or self.code >= 500

    @property
    def out_of_reach(self) -> bool:
        """Whether the kind is not served here, or is not this operator's to use."""
        return self.code in (403, 404)


@dataclass(frozen=True)
class Query:
    """Which objects of a kind to list."""

    labels: str = ""
    fields: str = ""
    metadata_only: bool = False
    """Ask for metadata alone, where the rest would only be thrown away."""


async def connect() -> ApiClient:
    """Return a connection with the service account of the pod, else with the kubeconfig."""
    configuration = Configuration()
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        config.load_incluster_config(client_configuration=configuration)
    else:
        await config.load_kube_config(client_configuration=configuration)
    return ApiClient(configuration)


class Kube:
    """What the operator asks of the API server. All but reads and Leases goes through the fence."""

    def __init__(self, client: ApiClient, fence: Fence) -> None:
        """Make a client of an official one."""
        self._client = client
        self._fence = fence

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Change something within this context, at the API server or in the nodes.

        Raises `KubeError` when this operator may not, or may not any longer.
        """
        try:
            async with self._fence.writing():
                yield
        except FencedError as error:
            raise KubeError(0, str(error)) from error
        except TimeoutError as error:
            raise KubeError(0, "the time to act ended while something was being changed") from error

    async def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None when there is none.

        Raises `KubeError` with code 404 where the kind itself is not served: nothing is known then.
        """
        try:
            return await self._call("get", "GET", kind, namespace, name)
        except KubeError as error:
            if error.code == 404 and str(error) != _NOT_SERVED:
                return None
            raise

    async def served(self, group: str, version: str) -> frozenset[str]:
        """Return the plural names of the kinds that can be watched, of one group and version."""
        path = f"/apis/{_segment(group)}/{_segment(version)}"
        try:
            answer = await self._request("get", "APIResourceList", "GET", path)
        except KubeError as error:
            if error.code == 404:
                return frozenset()
            raise
        resources = answer.get("resources") or ()
        return frozenset(item["name"] for item in resources if "watch" in item.get("verbs", ()))

    async def find(self, kind: str, namespace: str, query: Query) -> list[Manifest]:
        """Return the objects of a kind that a query matches.

        They come from the API server's cache: good enough for a loop that looks again, and free
        of charge for etcd.
        """
        parameters = [("resourceVersion", "0")]
        if query.labels:
            parameters.append(("labelSelector", query.labels))
        if query.fields:
            parameters.append(("fieldSelector", query.fields))
        headers = {"Accept": _METADATA_ONLY} if query.metadata_only else {}
        answer = await self._call(
            "list", "GET", kind, namespace, parameters=parameters, headers=headers
        )
        version = _PATHS[kind][0].removeprefix("apis/").removeprefix("api/")
        # In a list the items do not say what they are.
        return [{"apiVersion": version, "kind": kind, **item} for item in answer.get("items") or ()]

    async def apply(self, manifest: Manifest) -> None:
        """Apply an object: our fields become what the manifest says, others stay."""
        await self._apply(manifest)

    async def apply_status(self, cluster: PartisanCluster, status: dict[str, Any]) -> None:
        """Write a cluster's status. Its uid is a precondition: a successor is left alone.

        A definition of an earlier version, as after a rollback of it alone, does not know all of
        the status. It gets what it knows: most of what is true is better than nothing.
        """
        manifest: Manifest = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {
                "name": cluster.name,
                "namespace": cluster.namespace,
                "uid": cluster.uid,
            },
            "status": status,
        }
        while True:
            try:
                await self._apply(manifest, subresource="status")
            except KubeError as error:
                known = manifest["status"]
                # An answer may name one of several fields.
                for path in _UNDECLARED.findall(str(error)):
                    known = _without(known, path.split("."))
                if known == manifest["status"]:
                    raise
                manifest["status"] = known
            else:
                return

    async def create(self, manifest: Manifest) -> None:
        """Create an object; raises `KubeError` with code 409 when it is there already."""
        await self._change(
            "create",
            "POST",
            manifest["kind"],
            manifest["metadata"]["namespace"],
            parameters=[("fieldManager", FIELD_MANAGER)],
            body=manifest,
        )

    async def delete(self, kind: str, namespace: str, name: str, uid: str) -> None:
        """Delete the object with that uid; nothing happens when it is gone or another one."""
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        }
        try:
            await self._change("delete", "DELETE", kind, namespace, name, body=options)
        except KubeError as error:
            if error.code not in (404, 409):
                raise

    async def merge(
        self, kind: str, namespace: str, name: str, patch: Manifest, *, manager: str = FIELD_MANAGER
    ) -> None:
        """Merge a patch into an object, as a manager of that name."""
        await self._change(
            "patch",
            "PATCH",
            kind,
            namespace,
            name,
            parameters=[("fieldManager", manager)],
            headers={"Content-Type": "application/merge-patch+json"},
            body=patch,
        )

    async def write_lease(self, lease: Manifest) -> Manifest:
        """Create a Lease, or replace the one of the version that it names; return it as written.

        The Lease decides over the fence, and so is the one thing that is written outside of it.
        Raises `KubeError` with code 409, or 404, when it is there already, another one or gone.
        """
        metadata = lease["metadata"]
        replaces = "resourceVersion" in metadata
        return await self._call(
            "update" if replaces else "create",
            "PUT" if replaces else "POST",
            "Lease",
            metadata["namespace"],
            metadata["name"] if replaces else "",
            parameters=[("fieldManager", FIELD_MANAGER)],
            body=lease,
        )

    async def _apply(self, manifest: Manifest, subresource: str = "") -> None:
        await self._change(
            f"apply_{subresource}" if subresource else "apply",
            "PATCH",
            manifest["kind"],
            manifest["metadata"]["namespace"],
            manifest["metadata"]["name"],
            subresource=subresource,
            parameters=[("fieldManager", FIELD_MANAGER), ("force", "true")],
            headers={"Content-Type": "application/apply-patch+yaml"},
            body=manifest,
        )

    async def _change(self, *arguments: str, **options: Any) -> None:
        async with self.changing():
            await self._call(*arguments, **options)

    async def _call(
        self,
        verb: str,
        method: str,
        kind: str,
        namespace: str,
        name: str = "",
        *,
        subresource: str = "",
        parameters: list[tuple[str, str]] | None = None,
        headers: dict[str, str] | None = None,
        body: Manifest | None = None,
    ) -> Manifest:
        """Make one request about a kind; return the answer, or raise `KubeError`."""
        group, plural = _PATHS[kind]
        parts = [*group.split("/"), "namespaces", namespace, plural, name, subresource]
        return await self._request(
            verb,
            f"{kind} {name}".rstrip(),
            method,
            "/" + "/".join(_segment(part) for part in parts if part),
            query_params=parameters,
            header_params={"Accept": "application/json"} | (headers or {}),
            body=body,
        )

    async def _request(
        self, verb: str, subject: str, method: str, path: str, **options: Any
    ) -> Manifest:
        """Make one request; return the answer, or raise `KubeError`."""
        code, request = 0, f"{verb.replace('_', ' the ')} {subject}"
        try:
            serialised = await self._client.param_serialize(
                method, path, auth_settings=["BearerToken"], **options
            )
            response = await self._client.call_api(*serialised, _request_timeout=REQUEST_TIMEOUT)
            code = response.status
            text = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise KubeError(0, f"no answer: {error or type(error)}", request) from error
        finally:
            metrics.api_calls.labels(verb, subject.partition(" ")[0], str(code)).inc()
        if not 200 <= code < 300:
            raise KubeError(code, _message(text, code), request)
        answer: Manifest = json.loads(text)
        return answer


def _segment(text: str) -> str:
    """Return text as one segment of a path.

    Raises `KubeError` for text that no object can be named. Quoting alone does not do: the API
    server undoes it before it splits the path.
    """
    if text in (".", "..") or "/" in text or "%" in text:
        raise KubeError(400, f"{text!r} cannot be the name of an object")
    return quote(text, safe="")


def _without(value: dict[str, Any], path: list[str]) -> dict[str, Any]:
    """Return an object without the field at the end of a path."""
    key, *rest = path
    if not rest or not isinstance(value.get(key), dict):
        return {name: item for name, item in value.items() if name != key}
    return {**value, key: _without(value[key], rest)}


def _message(body: bytes, code: int) -> str:
    """Return what a `Status` object says, or the beginning of whatever came instead."""
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        text = body[:200].decode(errors="replace").strip()
        return text if text == _NOT_SERVED else f"HTTP {code}: {text}"
