"""Half of a cluster dies at once, or is cut off from the other half, while it counts."""

import pytest

from scale_tests.benches.churn.faults import Faults
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.subject import LASTING, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.outcomes import assert_accounted, wait_partitioned, wait_replaced
from scale_tests.e2e.shapes import views_of

NODES = 8
COUNTING = {"workload": {"adCounter": counter(NODES, LASTING)}}


def test_a_partition_into_halves_is_reported_and_heals(
    new_subject: NewSubject, environment: Environment
) -> None:
    if not environment.local:
        pytest.skip("the network is cut in this machine's own packet filter")
    subject = new_subject("cut")
    subject.apply(manifest("cut", NODES, **COUNTING))
    subject.wait_counted(NODES * 5)
    before = subject.incarnations()
    with Faults(subject, seed=1).partition() as sides:
        wait_partitioned(subject)
        wait_for(
            "no neighbour on the other side",
            lambda: views_of(subject.nodes()),
            lambda views: all(views.get(name, {""}) <= side for side in sides for name in side),
        )
        subject.wait_degraded("OverlayPartitioned")
    subject.wait_healthy(NODES)
    status = subject.end_run()
    assert subject.incarnations() == before
    assert (status.workload.replaced_nodes, status.workload.lost_increments) == (0, 0)
    assert_accounted(subject, status)


def test_half_of_the_nodes_killed_at_once_return_and_the_count_is_exact(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("halved")
    subject.apply(manifest("halved", NODES, **COUNTING))
    subject.wait_counted(NODES * 5)
    before = subject.incarnations()
    faults = Faults(subject, seed=1)
    victims = faults.draw(0.5)
    faults.kill(victims)
    wait_replaced(subject, len(victims))
    status = subject.end_run()
    after = subject.incarnations()
    assert {name for name in before if after[name] != before[name]} == set(victims)
    assert len(victims) == NODES // 2
    assert_accounted(subject, status)
