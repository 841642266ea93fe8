"""The operations that the operator needs of the API server.

Objects stay JSON: the children's builders produce it, and server-side apply compares it field by
field. The official client provides the configuration, TLS, tokens and their renewal.
"""

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration

from partisan_operator.api.errors import KubeError
from partisan_operator.api.fence import Fence, FencedError
from partisan_operator.api.requests import NOT_SERVED, Requests, api_version, segment
from partisan_operator.children.child import Manifest
from partisan_operator.models import PartisanCluster
from partisan_operator.models.cluster import API_VERSION, KIND

FIELD_MANAGER = "partisan-operator"
_UNDECLARED = re.compile(r"\.status\.([\w.]+)[^:\s]*: field not declared in schema")
"""The API server's error for a field that the CRD lacks, with its path in the status. For a field
within a list, the path of the list."""

REVIEWS = {
    "TokenReview": ("authentication.k8s.io/v1", "tokenreviews"),
    "SubjectAccessReview": ("authorization.k8s.io/v1", "subjectaccessreviews"),
}
_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@dataclass(frozen=True)
class Query:
    """Which objects of a kind to list."""

    labels: str = ""
    fields: str = ""
    metadata_only: bool = False
    """Whether metadata alone is needed."""

    consistent: bool = False
    """Whether the answer holds all writes so far, which may cost a read of etcd."""


async def connect() -> ApiClient:
    """Return a connection with the pod's service account, else with the kubeconfig."""
    configuration = Configuration()
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        config.load_incluster_config(client_configuration=configuration)
    else:
        await config.load_kube_config(client_configuration=configuration)
    return ApiClient(configuration)


class Kube:
    """A client of the API server. All writes but those of Leases pass the fence."""

    def __init__(self, client: ApiClient, fence: Fence) -> None:
        """Wrap an official client."""
        self._requests = Requests(client)
        self._fence = fence

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Admit changes within this context, at the API server or in the nodes.

        Raises `KubeError` when this operator may not act, or no longer.
        """
        try:
            async with self._fence.writing():
                yield
        except FencedError as error:
            raise KubeError(0, str(error)) from error
        except TimeoutError as error:
            raise KubeError(0, "the Lease expired during the change") from error

    async def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None when there is none.

        Raises `KubeError` with code 404 where the kind itself is not served.
        """
        try:
            return await self._requests.about("get", "GET", kind, namespace, name)
        except KubeError as error:
            if error.code == 404 and str(error) != NOT_SERVED:
                return None
            raise

    async def served(self, group: str, version: str) -> frozenset[str]:
        """Return the plural names of the kinds that can be watched, of one group and version."""
        path = f"/apis/{segment(group)}/{segment(version)}"
        try:
            answer = await self._requests.path("get", "APIResourceList", "GET", path)
        except KubeError as error:
            if error.code == 404:
                return frozenset()
            raise
        resources = answer.get("resources") or ()
        return frozenset(item["name"] for item in resources if "watch" in item.get("verbs", ()))

    async def find(self, kind: str, namespace: str, query: Query) -> list[Manifest]:
        """Return the objects of a kind that a query matches; of all namespaces if it is empty.

        They come from the API server's cache: recent enough for a loop, and without load on etcd.
        """
        parameters = [] if query.consistent else [("resourceVersion", "0")]
        if query.labels:
            parameters.append(("labelSelector", query.labels))
        if query.fields:
            parameters.append(("fieldSelector", query.fields))
        headers = {"Accept": _METADATA_ONLY} if query.metadata_only else {}
        answer = await self._requests.about(
            "list", "GET", kind, namespace, parameters=parameters, headers=headers
        )
        # Items of a list lack their kind.
        typed = {"apiVersion": api_version(kind), "kind": kind}
        return [{**typed, **item} for item in answer.get("items") or ()]

    async def apply(self, manifest: Manifest) -> None:
        """Apply an object: the operator's fields become those of the manifest, others stay."""
        await self._apply(manifest)

    async def try_apply(self, manifest: Manifest) -> None:
        """Have the API server check an apply of an object, without a change."""
        await self._apply(manifest, dry_run=True)

    async def apply_status(self, cluster: PartisanCluster, status: dict[str, Any]) -> None:
        """Write a cluster's status. Its uid is a precondition: a successor is left alone.

        An older CRD, as after a rollback of the CRD alone, lacks some fields of the status: these
        are left out.
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
                # An error may name one of several fields.
                for path in _UNDECLARED.findall(str(error)):
                    known = _without(known, path.split("."))
                if known == manifest["status"]:
                    raise
                manifest["status"] = known
            else:
                return

    async def create(self, manifest: Manifest) -> None:
        """Create an object; raises `KubeError` with code 409 if it exists."""
        await self._change(
            "create",
            "POST",
            manifest["kind"],
            manifest["metadata"]["namespace"],
            parameters=[("fieldManager", FIELD_MANAGER)],
            body=manifest,
        )

    async def delete(self, kind: str, namespace: str, name: str, uid: str) -> None:
        """Delete the object with that uid; does nothing if it is gone or was replaced."""
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
        """Create a Lease, or replace the version that it names; return it as written.

        Leases bypass the fence, which depends on them. Raises `KubeError` with code 409 or 404 if
        the Lease exists, has changed or is gone.
        """
        metadata = lease["metadata"]
        replaces = "resourceVersion" in metadata
        return await self._requests.about(
            "update" if replaces else "create",
            "PUT" if replaces else "POST",
            "Lease",
            metadata["namespace"],
            metadata["name"] if replaces else "",
            parameters=[("fieldManager", FIELD_MANAGER)],
            body=lease,
        )

    async def review(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Ask the API server about a person; return its verdict, the status of the review.

        `kind` is TokenReview or SubjectAccessReview. Reviews bypass the fence: they change nothing.
        Raises `KubeError`.
        """
        group, plural = REVIEWS[kind]
        body = {"apiVersion": group, "kind": kind, "spec": spec}
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        answer = await self._requests.path(
            "create", kind, "POST", f"/apis/{group}/{plural}", header_params=headers, body=body
        )
        verdict = answer.get("status")
        return verdict if isinstance(verdict, dict) else {}

    async def _apply(
        self, manifest: Manifest, subresource: str = "", *, dry_run: bool = False
    ) -> None:
        await self._change(
            f"apply_{subresource}" if subresource else "apply",
            "PATCH",
            manifest["kind"],
            manifest["metadata"]["namespace"],
            manifest["metadata"]["name"],
            subresource=subresource,
            parameters=[
                ("fieldManager", FIELD_MANAGER),
                ("force", "true"),
                *([("dryRun", "All")] if dry_run else []),
            ],
            headers={"Content-Type": "application/apply-patch+yaml"},
            body=manifest,
        )

    async def _change(self, *arguments: str, **options: Any) -> None:
        async with self.changing():
            await self._requests.about(*arguments, **options)


def _without(value: dict[str, Any], path: list[str]) -> dict[str, Any]:
    """Return an object without the field at the end of a path."""
    key, *rest = path
    if not rest or not isinstance(value.get(key), dict):
        return {name: item for name, item in value.items() if name != key}
    return {**value, key: _without(value[key], rest)}
