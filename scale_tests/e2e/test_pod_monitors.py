"""A cluster with PodMonitor Enabled reports a missing CRD, and gets one once the CRD exists."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.subject import manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e import kinds
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.foreign_crds import GROUP, definitions

NAME = f"podmonitors.{GROUP}"


@pytest.fixture
def define(environment: Environment, cluster: Cluster) -> Iterator[Callable[[], None]]:
    """Creates the Prometheus operator's CRD; the test began without it."""
    if kinds.find(cluster, NAME) is not None:
        pytest.skip("the cluster has a Prometheus operator of its own")
    wanted = [item for item in definitions() if item["metadata"]["name"] == NAME]
    yield partial(kinds.define, environment, cluster, wanted)
    kinds.forget(cluster, wanted)


def test_a_pod_monitor_without_its_crd_is_reported_and_created_once_it_exists(
    new_subject: NewSubject, cluster: Cluster, define: Callable[[], None]
) -> None:
    subject = new_subject("watched")
    labels = {"release": "stack"}
    metrics = {"podMonitor": "Enabled", "interval": "1m30s", "labels": labels}
    subject.apply(manifest("watched", 2, workload=None, metrics=metrics))
    subject.wait_steady()
    subject.wait_degraded("PodMonitorUnavailable")
    before = subject.uids()

    define()
    path = f"apis/{GROUP}/v1/namespaces/{subject.namespace}/podmonitors/watched-nodes"
    monitor = wait_for("the PodMonitor", lambda: cluster.find(path), bool)
    assert monitor is not None
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["interval"] == "90s"
    assert monitor["metadata"]["labels"]["release"] == "stack"
    subject.wait("recovered", lambda s: s.degraded is None)

    subject.patch(metrics={"podMonitor": "Disabled", "interval": None, "labels": None})
    wait_for("the PodMonitor's end", lambda: cluster.find(path), lambda found: found is None)
    assert subject.uids() == before
