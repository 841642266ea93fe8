"""A running cluster moves from one overlay, number of nodes or workload to another."""

from __future__ import annotations

from collections.abc import Callable

from scale_tests.cluster.kube import Json
from scale_tests.cluster.partisan import ClusterStatus
from scale_tests.cluster.subject import manifest
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.shapes import is_mesh, is_ring, views_of

NODES = 16


def all_run(kind: str) -> Callable[[ClusterStatus], bool]:
    return lambda status: status.overlay == kind and status.configured == NODES


def test_a_switch_under_load_loses_nothing(new_subject: NewSubject) -> None:
    subject = new_subject("moving")
    counter = {
        "impressions": NODES * 200,
        "incrementInterval": "200ms",
        "propagationInterval": "250ms",
    }
    subject.apply(manifest("moving", NODES, workload={"adCounter": counter}))
    subject.wait_counted(NODES)
    uids, restarts = subject.uids(), subject.restarts()
    # There, half of the way back, and on, each before the one before has settled.
    steps: list[tuple[str, Json]] = [
        ("ClientServer", {"clientServer": {"servers": 2}}),
        ("HyParView", {"clientServer": None, "hyParView": {"activeMax": 4}}),
        ("FullMesh", {"hyParView": None}),
    ]
    for lanes, (kind, parameters) in enumerate(steps, start=2):
        channels = [
            {"name": "default", "parallelism": lanes},
            {"name": "gossip", "parallelism": lanes, "monotonic": True},
        ]
        subject.patch(overlay={"kind": kind, **parameters}, channels=channels)
        moving = subject.wait(f"all nodes run {kind}", all_run(kind))
        assert moving.previous_kind
        assert moving.phase == "Running"
        subject.wait_counted(moving.workload.value + NODES)
    settled = subject.wait_reconfigured()
    assert (settled.overlay, settled.updated, settled.phase) == ("FullMesh", NODES, "Running")
    assert is_mesh(views_of(subject.nodes()))
    run = subject.wait_finished().workload
    assert run.value == run.increments_sum >= run.threshold
    assert (run.lost_increments, run.replaced_nodes) == (0, 0)
    assert (subject.uids(), subject.restarts()) == (uids, restarts)
    events = subject.kubectl("get", "events", "--field-selector", "involvedObject.name=moving")
    assert events.count("OverlaySwitchStarted") == events.count("OverlaySwitched ") == 1
    subject.delete()


def test_edges_follow_when_a_ring_is_scaled(new_subject: NewSubject) -> None:
    subject = new_subject("ring")
    ring = {"kind": "Static", "static": {"pattern": "Ring"}}
    subject.apply(manifest("ring", 3, overlay=ring, workload=None))
    subject.wait_steady()
    before = subject.uids()
    subject.patch(replicas=5)
    subject.wait_reconfigured()
    assert is_ring(views_of(subject.nodes()))
    assert before.items() <= subject.uids().items()
    subject.delete()


def test_a_changed_workload_starts_a_new_run_from_zero(new_subject: NewSubject) -> None:
    subject = new_subject("again")
    subject.apply(manifest("again", 4))
    first = subject.wait_finished().workload
    subject.patch(workload={"adCounter": {"impressions": 40}})
    status = subject.wait("new run", lambda s: s.finished and s.workload.run != first.run)
    run = status.workload
    assert run.threshold == 40
    assert run.threshold <= run.value == run.increments_sum < first.value
    subject.delete()
