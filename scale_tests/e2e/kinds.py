"""Kinds of other operators, which the cluster knows for the time of a test."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json, holds
from scale_tests.cluster.wait import wait_for

_DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def find(cluster: Cluster, name: str) -> Json | None:
    """The definition of a kind, such as `podmonitors.monitoring.coreos.com`."""
    return cluster.find(f"{_DEFINITIONS}/{name}")


def define(environment: Environment, cluster: Cluster, definitions: Sequence[Json]) -> None:
    """Makes definitions, and waits until the API server serves them.

    It is asked here, and not by `kubectl wait`, which fails on a definition that has no conditions
    yet.
    """
    apply = ("apply", "--server-side", "-f", "-")
    operator.kubectl(environment, *apply, stdin=yaml.safe_dump_all(definitions))
    names = _names(definitions)
    wait_for(
        "the definitions to be established",
        lambda: [name for name in names if not holds(find(cluster, name) or {}, "Established")],
        lambda left: not left,
    )


def forget(cluster: Cluster, definitions: Sequence[Json]) -> None:
    """Deletes definitions, and waits until they are gone."""
    names = _names(definitions)
    for name in names:
        cluster.delete(f"{_DEFINITIONS}/{name}")
    wait_for(
        "the end of the definitions",
        lambda: [name for name in names if find(cluster, name)],
        lambda left: not left,
    )


def _names(definitions: Sequence[Json]) -> list[str]:
    return [item["metadata"]["name"] for item in definitions]
