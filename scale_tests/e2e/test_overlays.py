"""Every overlay runs the workload, and a running cluster moves from one to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.subject import Subject, manifest
from scale_tests.harness.commands import ROOT
from scale_tests.harness.kube import Cluster, Json
from scale_tests.harness.partisan import ClusterStatus
from scale_tests.localkube.nodes import ZONE_LABEL

NODES = 16
COUNTER = {
    "impressions": NODES * 10,
    "incrementInterval": "500ms",
    "propagationInterval": "250ms",
}

Views = dict[str, set[str]]
"""Of each node, its neighbours."""


def example(name: str) -> Json:
    """The manifest of an example, with a shorter run."""
    body: Json = yaml.safe_load((ROOT / "examples" / f"{name}.yaml").read_text())
    body["spec"]["workload"]["adCounter"] |= COUNTER
    return body


def plain(kind: str, **overlay: Any) -> Json:
    """A manifest with that overlay, its parameters the defaults but for the given ones."""
    workload = {"adCounter": COUNTER}
    return manifest(kind.lower(), NODES, overlay={"kind": kind, **overlay}, workload=workload)


def is_mesh(views: Views) -> bool:
    return all(view == views.keys() - {node} for node, view in views.items())


def is_star(views: Views) -> bool:
    (server,) = (node for node in views if node.endswith("-0"))
    return all(view == {server} for node, view in views.items() if node != server)


def is_ring(views: Views) -> bool:
    names = sorted(views, key=lambda name: int(name.rpartition("-")[2]))
    return all(
        views[name] == {names[index - 1], names[(index + 1) % len(names)]}
        for index, name in enumerate(names)
    )


def is_partial(views: Views) -> bool:
    """Somebody leaves somebody out; how full views are is chance."""
    return any(view < views.keys() - {node} for node, view in views.items())


def run(subject: Subject, body: Json) -> Views:
    """Runs the counter of a new cluster to its end, checks the account and the overlay."""
    status = subject.apply(body).wait_finished()
    nodes = subject.nodes()
    assert (status.overlay, len(nodes)) == (body["spec"]["overlay"]["kind"], NODES)
    assert status.workload.value == status.workload.increments_sum >= status.workload.threshold
    assert {node.value for node in nodes} == {status.workload.value}
    return {node.name: set(node.active) for node in nodes}


@pytest.mark.parametrize(
    ("body", "has_shape"),
    [
        (example("full-mesh"), is_mesh),
        (example("client-server"), is_star),
        (plain("HyParView"), is_partial),
        (plain("XBot"), is_partial),
        (plain("ScampV1", scampV1={"redundancy": 1}), is_partial),
        (plain("ScampV2", scampV2={"redundancy": 1}), is_partial),
        (plain("Cyclon", cyclon={"viewSize": 4, "shuffleSize": 3}), is_partial),
        (plain("Static", static={"pattern": "Ring"}), is_ring),
    ],
    ids=lambda value: value["spec"]["overlay"]["kind"] if isinstance(value, dict) else "",
)
def test_an_overlay_runs_the_counter_to_its_end(
    new_subject: NewSubject, body: Json, has_shape: Callable[[Views], bool]
) -> None:
    subject = new_subject(body["metadata"]["name"])
    views = run(subject, body)
    assert has_shape(views), views
    # The next cluster starts while this one goes.
    subject.cluster.delete(subject.path)


def test_hiscamp_goes_by_the_zones_that_pods_know_without_asking(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    body = example("zones")
    subject = new_subject(body["metadata"]["name"])
    run(subject, body)
    name, pod = sorted(subject.pods().items())[0]
    machine = cluster.get(f"api/v1/nodes/{pod['spec']['nodeName']}")
    zone = machine["metadata"]["labels"].get(ZONE_LABEL, "")
    assert pod["metadata"]["labels"].get(ZONE_LABEL, "") == zone
    assert subject.kubectl("exec", name, "--", "printenv", "K8S_ZONE").strip() == zone
    subject.delete()


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
        assert moving.also_running
        assert moving.phase == "Running"
        subject.wait_counted(moving.workload.value + NODES)
    settled = subject.wait_reconfigured()
    assert (settled.overlay, settled.updated, settled.phase) == ("FullMesh", NODES, "Running")
    assert is_mesh({node.name: set(node.active) for node in subject.nodes()})
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
    assert is_ring({node.name: set(node.active) for node in subject.nodes()})
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


def test_the_published_configuration_is_accepted(new_subject: NewSubject) -> None:
    body: Json = yaml.safe_load((ROOT / "examples" / "paper.yaml").read_text())
    subject = new_subject(body["metadata"]["name"])
    text = subject.kubectl("apply", "--dry-run=server", "-f", str(ROOT / "examples/paper.yaml"))
    assert "created (server dry run)" in text
