"""A copy of the definition in a group of its own, for manifests that no operator is to act on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from scale_tests.cluster.kube import ApiError, Cluster, Json, holds
from scale_tests.cluster.wait import wait_for
from scale_tests.host.commands import ROOT

GROUP = "validation.partisan.dev"
VERSION = "v1alpha1"
_DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FILE = ROOT / "crds" / "partisanclusters.yaml"


def path(namespace: str, name: str = "") -> str:
    """The path of a manifest of the copy, or of all of a namespace."""
    found = f"apis/{GROUP}/{VERSION}/namespaces/{namespace}/partisanclusters"
    return found + (f"/{name}" if name else "")


@contextmanager
def copied(cluster: Cluster, definition: Json | None = None) -> Iterator[None]:
    """Installs the copy, of crds/ or of another definition, and removes it. Raises ApiError."""
    copy = definition or yaml.safe_load(_FILE.read_text())
    name = f"partisanclusters.{GROUP}"
    copy["metadata"]["name"] = name
    copy["spec"]["group"] = GROUP
    copy["spec"]["names"]["shortNames"] = []
    _remove(cluster, name)
    cluster.create(_DEFINITIONS, copy)
    wait_for(
        "the definition is served",
        lambda: cluster.get(f"{_DEFINITIONS}/{name}"),
        lambda found: holds(found, "Established"),
    )
    wait_for("its resource is served", lambda: _served(cluster), bool)
    try:
        yield
    finally:
        _remove(cluster, name)


def replace(cluster: Cluster, definition: Json) -> None:
    """Makes the copy another definition. Raises ApiError."""
    name = f"partisanclusters.{GROUP}"
    cluster.patch(f"{_DEFINITIONS}/{name}", {"spec": {"versions": definition["spec"]["versions"]}})


def of(body: Json) -> Json:
    """The manifest as one of the copy."""
    return {**body, "apiVersion": f"{GROUP}/{VERSION}"}


def refusal(cluster: Cluster, namespace: str, body: Json) -> str:
    """What the API server says against a manifest; empty if it takes it. Nothing is created."""
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    return _refused(cluster, "POST", path(namespace), of(body), query, "application/json")


def update_refusal(cluster: Cluster, namespace: str, name: str, spec: dict[str, Any]) -> str:
    """What it says against a change of the spec; empty if it takes it. Nothing is changed."""
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    kind = "application/merge-patch+json"
    return _refused(cluster, "PATCH", path(namespace, name), {"spec": spec}, query, kind)


def scale_refusal(cluster: Cluster, namespace: str, name: str, replicas: int) -> str:
    """What it says against `kubectl scale`; empty if it takes it. Nothing is changed."""
    where, kind = f"{path(namespace, name)}/scale", "application/merge-patch+json"
    body = {"spec": {"replicas": replicas}}
    return _refused(cluster, "PATCH", where, body, {"dryRun": "All"}, kind)


def _refused(
    cluster: Cluster, method: str, where: str, body: Json, query: dict[str, str], kind: str
) -> str:
    try:
        json.loads(cluster.request(method, where, query=query, body=body, content_type=kind))
    except ApiError as error:
        if error.status not in (400, 422):
            raise
        return error.message
    return ""


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
