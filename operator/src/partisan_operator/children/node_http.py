"""How a pod serves HTTP: its port, its probes, and the credential of its orders.

Pods of an earlier operator have no bearer: they serve plain HTTP and accept the cluster's token
with orders. `ANNOTATION` on the pod template, and so on each pod, marks those with the bearer. A
cluster keeps old pods until its image changes, or its nodes report that it supports the bearer: an
older image would reject every order, and with TLS every probe.
"""

from collections.abc import Mapping
from typing import Any

from partisan_operator.children import naming, tls_files
from partisan_operator.children.child import Manifest
from partisan_operator.children.shared_secrets import BEARER
from partisan_operator.models import PartisanCluster

ANNOTATION = "partisan.dev/http"
GENERATION = "2"
"""Value for pods that mount the bearer and, with TLS, serve HTTPS alone. Equal to `INTERFACE`,
which their nodes report."""

INTERFACE = 2
PLAIN_PORT, TLS_PORT = "http", "https"
"""Names of the container's port: Prometheus derives the scheme from them."""

_VOLUME, _DIRECTORY = "bearer", "/etc/partisan/bearer"


def has_bearer(metadata: Mapping[str, Any]) -> bool:
    """Whether a pod, or the pods of a template, mount the bearer."""
    return (metadata.get("annotations") or {}).get(ANNOTATION) == GENERATION


def serves_tls(cluster: PartisanCluster, *, bearer: bool) -> bool:
    """Whether pods serve TLS: those that mount the bearer, in a cluster with TLS."""
    return bearer and tls_files.secret_name(cluster) is not None


def pod_annotations(*, bearer: bool) -> dict[str, str]:
    """Return the annotations of the pods."""
    return {ANNOTATION: GENERATION} if bearer else {}


def port(cluster: PartisanCluster, *, bearer: bool) -> Manifest:
    """Return the container's port."""
    name = TLS_PORT if serves_tls(cluster, bearer=bearer) else PLAIN_PORT
    return {"name": name, "containerPort": naming.HTTP_PORT, "protocol": "TCP"}


def probe(cluster: PartisanCluster, path: str, *, bearer: bool) -> Manifest:
    """Return the HTTP request of a probe."""
    tls = serves_tls(cluster, bearer=bearer)
    return {
        "path": path,
        "port": TLS_PORT if tls else PLAIN_PORT,
        "scheme": "HTTPS" if tls else "HTTP",
    }


def volumes(cluster: PartisanCluster, *, bearer: bool) -> list[Manifest]:
    """Return the pod's volume with the bearer."""
    secret = {"secretName": BEARER.name_of(cluster.name), "defaultMode": 0o440}
    return [{"name": _VOLUME, "secret": secret}] if bearer else []


def mounts(*, bearer: bool) -> list[Manifest]:
    """Return the container's mount of the bearer."""
    mount = {"name": _VOLUME, "mountPath": _DIRECTORY, "readOnly": True}
    return [mount] if bearer else []
