"""Half of a cluster dies at once, or is cut off from the other half, while it counts."""

from __future__ import annotations

import pytest

from scale_tests.benches.churn.faults import Faults
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.outcomes import assert_accounted, wait_partitioned
from scale_tests.e2e.shapes import views_of

NODES = 8
COUNTER = {
    # A minute of counting: half of the cluster alone does not finish it within the partition.
    "impressions": NODES * 120,
    "incrementInterval": "500ms",
    "propagationInterval": "250ms",
}


def test_a_partition_into_halves_is_reported_and_heals(
    new_subject: NewSubject, environment: Environment
) -> None:
    if not environment.local:
        pytest.skip("the network is cut in this machine's own packet filter")
    subject = new_subject("cut")
    subject.apply(manifest("cut", NODES, workload={"adCounter": COUNTER}))
    subject.wait_counted(NODES * 10)
    before = subject.incarnations()
    with _faults(subject).partition() as sides:
        wait_partitioned(subject)
        views = views_of(subject.nodes())
        assert all(views[name] <= side for side in sides for name in side)
        degraded = subject.wait("advice", lambda s: s.degraded is not None).degraded
        assert degraded is not None
        assert degraded.reason == "OverlayPartitioned"
    subject.wait("one component again", lambda s: s.steady and s.degraded is None)
    status = subject.wait_finished()
    assert subject.incarnations() == before
    assert (status.workload.replaced_nodes, status.workload.lost_increments) == (0, 0)
    assert_accounted(subject, status)


def test_half_of_the_nodes_killed_at_once_return_and_the_count_is_exact(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("halved")
    subject.apply(manifest("halved", NODES, workload={"adCounter": COUNTER}))
    subject.wait_counted(NODES * 10)
    before = subject.incarnations()
    faults = _faults(subject)
    victims = faults.draw(0.5)
    faults.kill(victims)
    status = subject.wait_finished()
    after = subject.incarnations()
    assert {name for name in before if after[name] != before[name]} == set(victims)
    assert status.workload.replaced_nodes == len(victims) == NODES // 2
    assert_accounted(subject, status)


def _faults(subject: Subject) -> Faults:
    return Faults(subject.environment, subject.cluster, subject.namespace, subject.name, seed=1)
