"""Kinds of other operators, which the cluster knows during a test."""

from collections.abc import Sequence

import yaml

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json, holds
from scale_tests.cluster.wait import wait_for

_DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def find(cluster: Cluster, name: str) -> Json | None:
    """The CRD of a kind, such as `podmonitors.monitoring.coreos.com`."""
    return cluster.find(f"{_DEFINITIONS}/{name}")


def define(environment: Environment, cluster: Cluster, crds: Sequence[Json]) -> None:
    """Creates CRDs, and waits until the API server serves them.

    Not with `kubectl wait`, which fails on a CRD that has no conditions yet.
    """
    apply = ("apply", "--server-side", "-f", "-")
    operator.kubectl(environment, *apply, stdin=yaml.safe_dump_all(crds))
    names = _names(crds)
    wait_for(
        "the CRDs to be established",
        lambda: [name for name in names if not holds(find(cluster, name) or {}, "Established")],
        lambda left: not left,
    )


def forget(cluster: Cluster, crds: Sequence[Json]) -> None:
    """Deletes CRDs, and waits until they are gone."""
    names = _names(crds)
    for name in names:
        cluster.delete(f"{_DEFINITIONS}/{name}")
    wait_for(
        "the CRDs gone",
        lambda: [name for name in names if find(cluster, name)],
        lambda left: not left,
    )


def _names(crds: Sequence[Json]) -> list[str]:
    return [item["metadata"]["name"] for item in crds]
