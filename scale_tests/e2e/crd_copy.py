"""A copy of the CRD in a group of its own, for manifests on which no operator acts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from scale_tests.cluster.kube import ApiError, Cluster, Json, holds
from scale_tests.cluster.wait import wait_for
from scale_tests.host import files
from scale_tests.host.commands import ROOT

GROUP = "validation.partisan.dev"
VERSION = "v1alpha1"
"""The version in which a test writes and reads that names none."""

_DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FILE = ROOT / "crds" / "partisanclusters.yaml"


def path(namespace: str, name: str = "", *, version: str = VERSION) -> str:
    """The path of a resource of the copy, or of all in a namespace."""
    found = f"apis/{GROUP}/{version}/namespaces/{namespace}/partisanclusters"
    return found + (f"/{name}" if name else "")


@contextmanager
def copied(cluster: Cluster, crd: Json | None = None) -> Iterator[None]:
    """Installs the copy, of crds/ or of another CRD, and removes it. Raises ApiError.

    There is one at a time: waits for that of another file of tests.
    """
    with files.locked(ROOT / "build" / "crd-copy.lock"):
        yield from _copied(cluster, crd)


def _copied(cluster: Cluster, crd: Json | None) -> Iterator[None]:
    copy = crd or yaml.safe_load(_FILE.read_text())
    name = f"partisanclusters.{GROUP}"
    copy["metadata"]["name"] = name
    copy["spec"]["group"] = GROUP
    copy["spec"]["names"]["shortNames"] = []
    _remove(cluster, name)
    cluster.create(_DEFINITIONS, copy)
    wait_for(
        "the copy is served",
        lambda: cluster.get(f"{_DEFINITIONS}/{name}"),
        lambda found: holds(found, "Established"),
    )
    wait_for("its resource is served", lambda: _served(cluster), bool)
    try:
        yield
    finally:
        _remove(cluster, name)


def replace(cluster: Cluster, crd: Json) -> None:
    """Replaces the versions of the copy by those of another CRD. Raises ApiError."""
    name = f"partisanclusters.{GROUP}"
    cluster.patch(f"{_DEFINITIONS}/{name}", {"spec": {"versions": crd["spec"]["versions"]}})


def of(body: Json, *, version: str = VERSION) -> Json:
    """The manifest as one of the copy."""
    return {**body, "apiVersion": f"{GROUP}/{version}"}


def stored(cluster: Cluster, namespace: str, body: Json) -> Json:
    """A manifest as the API server would store it. Raises ApiError."""
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    answer: Json = json.loads(cluster.request("POST", path(namespace), query=query, body=of(body)))
    return answer


def refusal(cluster: Cluster, namespace: str, body: Json, *, version: str = VERSION) -> str:
    """The API server's error for a manifest; empty if it accepts it. Nothing is created."""
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    where, sent = path(namespace, version=version), of(body, version=version)
    return _refused(cluster, "POST", where, sent, query, "application/json")


def update_refusal(cluster: Cluster, namespace: str, name: str, spec: dict[str, Any]) -> str:
    """Its error for a change of the spec; empty if it accepts it. Nothing is changed."""
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    kind = "application/merge-patch+json"
    return _refused(cluster, "PATCH", path(namespace, name), {"spec": spec}, query, kind)


def scale_refusal(cluster: Cluster, namespace: str, name: str, replicas: int) -> str:
    """Its error for `kubectl scale`; empty if it accepts it. Nothing is changed."""
    where, kind = f"{path(namespace, name)}/scale", "application/merge-patch+json"
    body = {"spec": {"replicas": replicas}}
    return _refused(cluster, "PATCH", where, body, {"dryRun": "All"}, kind)


def _refused(
    cluster: Cluster, method: str, where: str, body: Json, query: dict[str, str], kind: str
) -> str:
    try:
        cluster.request(method, where, query=query, body=body, content_type=kind)
    except ApiError as error:
        if error.status not in (400, 422):
            raise
        return error.message
    return ""


def wait_refused(cluster: Cluster, namespace: str, body: Json) -> None:
    """Waits until the API server refuses a manifest: by the CRD that has replaced another."""

    def refused() -> bool:
        try:
            return bool(refusal(cluster, namespace, body))
        except ApiError as error:
            if error.status in (404, 429, 503):  # its storage is being made
                return False
            raise

    wait_for("the current CRD in force", refused, bool)


def _served(cluster: Cluster) -> bool:
    try:
        return cluster.find(path("default")) is not None
    except ApiError as error:
        if error.status in (429, 503):  # its storage is being made
            return False
        raise


def _remove(cluster: Cluster, name: str) -> None:
    cluster.delete(f"{_DEFINITIONS}/{name}")
    wait_for(
        "the copy is gone", lambda: cluster.find(f"{_DEFINITIONS}/{name}"), lambda left: not left
    )
