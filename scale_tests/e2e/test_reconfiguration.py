"""A running cluster moves from one overlay, number of nodes or workload to another."""

from collections.abc import Callable
from itertools import pairwise

from scale_tests.cluster.kube import Json
from scale_tests.cluster.partisan import ClusterStatus
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.shapes import is_mesh, is_ring, views_of

NODES = 16


def all_run(kind: str) -> Callable[[ClusterStatus], bool]:
    return lambda status: status.overlay == kind and status.configured == NODES


def test_a_switch_under_load_loses_nothing(new_subject: NewSubject) -> None:
    subject = new_subject("moving")
    workload = {"adCounter": counter(NODES, LASTING)}
    subject.apply(manifest("moving", NODES, workload=workload))
    subject.wait_counted(NODES)
    uids, restarts = subject.uids(), subject.restarts()
    # There, half of the way back, and on, as a rule before the one before has settled.
    steps: list[tuple[str, Json]] = [
        ("ClientServer", {"clientServer": {"servers": 2}}),
        ("HyParView", {"clientServer": None, "hyParView": {"activeMax": 4}}),
        ("FullMesh", {"hyParView": None}),
    ]
    with subject.watched() as states:
        wait_for("the watch", states, bool)
        for lanes, (kind, parameters) in enumerate(steps, start=2):
            channels = [
                {"name": "default", "parallelism": lanes},
                {"name": "gossip", "parallelism": lanes, "monotonic": True},
            ]
            subject.patch(overlay={"kind": kind, **parameters}, channels=channels)
            moving = subject.wait(f"all nodes run {kind}", all_run(kind))
            subject.wait_counted(moving.workload.value + NODES)
        subject.wait_reconfigured()
        overlays = wait_for(
            "the last state",
            lambda: [overlay_of(state) for state in states()],
            lambda seen: seen[-1] == ("FullMesh", ""),
        )
    subject.wait(
        "the last overlay",
        lambda s: (s.overlay, s.updated, s.phase) == ("FullMesh", NODES, "Running"),
    )
    wait_for("a mesh", lambda: views_of(subject.nodes()), is_mesh)
    run = subject.end_run().workload
    assert run.value == run.increments_sum >= run.threshold
    assert (run.lost_increments, run.replaced_nodes) == (0, 0)
    assert (subject.uids(), subject.restarts()) == (uids, restarts)
    # One switch, but for a machine on which one settles before the next begins.
    steps_seen = list(pairwise(overlays))
    begun = {now for before, now in steps_seen if now[1] and not before[1]}
    ended = {now for before, now in steps_seen if before[1] and not now[1]}
    assert begun
    wait_for("the switches' events", lambda: switches(subject), (len(begun), len(ended)).__eq__)
    subject.delete()


def overlay_of(state: Json) -> tuple[str, str]:
    """The overlay in a state of the cluster, and the one that it replaces, if any."""
    overlay = state["status"]["overlay"]
    return overlay["kind"], overlay.get("previousKind") or ""


def switches(subject: Subject) -> tuple[int, int]:
    """The numbers of its events of switches that have begun, and that have ended."""
    # The version, as kubectl may remember for hours what another CRD served.
    name = f"partisanclusters.v1beta1.partisan.dev/{subject.name}"
    events = subject.kubectl("events", "--for", name)
    return events.count("OverlaySwitchStarted"), events.count("OverlaySwitched ")


def test_edges_follow_when_a_ring_is_scaled(new_subject: NewSubject) -> None:
    subject = new_subject("ring")
    ring = {"kind": "Static", "static": {"pattern": "Ring"}}
    subject.apply(manifest("ring", 3, overlay=ring, workload=None))
    subject.wait_steady()
    before = subject.uids()
    subject.patch(replicas=5)
    subject.wait_reconfigured()
    wait_for("a ring", lambda: views_of(subject.nodes()), is_ring)
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
