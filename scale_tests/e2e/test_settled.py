"""The operator only reads a cluster whose run has ended."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject

pytestmark = pytest.mark.alone(installs=True)
"""Counts the requests to the API server of an operator of its own."""

NODES = 16
MOST_TRIES = 10
"""Each is two reconciles; a machine on which a node does not answer in time has that reported."""


def test_a_settled_cluster_is_left_alone(
    new_subject: NewSubject, environment: Environment, cluster: Cluster
) -> None:
    """Several reconciles make no write, and no watch on pods is open."""
    operator.install(environment, values=["--set", "reconcile.interval=2s"])
    subject = new_subject("settled")
    subject.apply(manifest("settled", NODES))
    subject.wait_finished()

    wait_for("settled", subject.status, lambda status: status.phase == "Converged")
    for _ in range(MOST_TRIES):
        # The last writes of the run may still be under way.
        _two_reconciles(cluster)
        before, version = _calls(cluster, reads=False), _version(subject)
        _two_reconciles(cluster)
        after = _calls(cluster, reads=False)
        if _version(subject) == version:
            break
    assert (after, _version(subject)) == (before, version)


def _two_reconciles(cluster: Cluster) -> None:
    """Waits until the operator has reconciled twice more; each time it reads at least twice."""
    start = _calls(cluster, reads=True)
    wait_for(
        "two more reconciles",
        lambda: _calls(cluster, reads=True),
        lambda count: count >= start + 4,
    )


def _version(subject: Subject) -> str:
    return str(subject.json()["metadata"]["resourceVersion"])


def _calls(cluster: Cluster, *, reads: bool) -> float:
    """The operator's requests for its clusters so far: those that read, or those that write."""
    families = text_string_to_metric_families(operator.metrics(cluster))
    samples = [s for f in families if f.name == "partisan_operator_api_calls" for s in f.samples]
    return sum(
        sample.value
        for sample in samples
        if sample.name.endswith("_total")
        # The election's requests, and those for what is served, are made without any cluster too.
        and sample.labels["kind"] not in ("Lease", "APIResourceList")
        and (sample.labels["verb"] in ("get", "list", "find")) == reads
    )
