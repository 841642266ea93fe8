"""Every overlay runs the workload and has its expected shape."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from scale_tests.cluster.kube import Cluster, Json
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.shapes import (
    Views,
    is_brokered,
    is_inhabited,
    is_mesh,
    is_partial,
    is_ring,
    is_star,
    views_of,
)
from scale_tests.host.commands import ROOT
from scale_tests.localkube.nodes import ZONE_LABEL

NODES = 16
COUNTER = {
    "impressions": NODES * 10,
    "incrementInterval": "500ms",
    "propagationInterval": "250ms",
}


def example(name: str) -> Json:
    """The manifest of an example, with a shorter run."""
    body: Json = yaml.safe_load((ROOT / "examples" / f"{name}.yaml").read_text())
    body["spec"]["workload"]["adCounter"] |= COUNTER
    return body


def plain(kind: str, **overlay: Any) -> Json:
    """A manifest with that overlay, its parameters the defaults but for the given ones."""
    workload = {"adCounter": COUNTER}
    return manifest(kind.lower(), NODES, overlay={"kind": kind, **overlay}, workload=workload)


def run(subject: Subject, body: Json, has_shape: Callable[[Views], bool]) -> None:
    """Runs the counter of a new cluster to its end, checks the count and the overlay."""
    status = subject.apply(body).wait_finished()
    nodes = wait_for(
        "all nodes, in their shape",
        subject.nodes,
        lambda found: len(found) == NODES and has_shape(views_of(found)),
        progress=lambda found: repr(views_of(found)),
    )
    assert status.overlay == body["spec"]["overlay"]["kind"]
    assert status.workload.value == status.workload.increments_sum >= status.workload.threshold
    assert {node.value for node in nodes} == {status.workload.value}


@pytest.mark.parametrize(
    ("body", "has_shape"),
    [
        (example("full-mesh"), is_mesh),
        (example("client-server"), is_star),
        (example("publish-subscribe"), is_brokered),
        (plain("HyParView"), is_partial),
        (plain("XBot"), is_partial),
        (plain("ScampV1", scampV1={"redundancy": 1}), is_inhabited),
        (plain("ScampV2", scampV2={"redundancy": 1}), is_inhabited),
        (plain("Cyclon", cyclon={"viewSize": 4, "shuffleSize": 3}), is_partial),
        (plain("Static", static={"pattern": "Ring"}), is_ring),
    ],
    ids=lambda value: value["spec"]["overlay"]["kind"] if isinstance(value, dict) else "",
)
def test_an_overlay_runs_the_counter_to_its_end(
    new_subject: NewSubject, body: Json, has_shape: Callable[[Views], bool]
) -> None:
    subject = new_subject(body["metadata"]["name"])
    run(subject, body, has_shape)
    # The next cluster starts while this one goes.
    subject.cluster.delete(subject.path)


def test_hiscamp_groups_by_the_zones_of_the_pods(new_subject: NewSubject, cluster: Cluster) -> None:
    body = example("zones")
    subject = new_subject(body["metadata"]["name"])
    run(subject, body, is_inhabited)
    name, pod = sorted(subject.pods().items())[0]
    machine = cluster.get(f"api/v1/nodes/{pod['spec']['nodeName']}")
    zone = machine["metadata"]["labels"].get(ZONE_LABEL, "")
    assert pod["metadata"]["labels"].get(ZONE_LABEL, "") == zone
    assert subject.kubectl("exec", name, "--", "printenv", "K8S_ZONE").strip() == zone
    subject.delete()


def test_the_published_configuration_is_accepted(new_subject: NewSubject) -> None:
    body: Json = yaml.safe_load((ROOT / "examples" / "paper.yaml").read_text())
    subject = new_subject(body["metadata"]["name"])
    text = subject.kubectl("apply", "--dry-run=server", "-f", str(ROOT / "examples/paper.yaml"))
    assert "created (server dry run)" in text
