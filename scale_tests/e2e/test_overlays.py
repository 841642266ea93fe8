"""The other overlays run the same workload, and a cluster can be changed while it lives."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.subject import manifest
from scale_tests.harness.commands import ROOT
from scale_tests.harness.kube import Json


def example(name: str) -> Json:
    """The manifest of an example, with a shorter run."""
    body: Json = yaml.safe_load((ROOT / "examples" / f"{name}.yaml").read_text())
    counter: dict[str, Any] = body["spec"]["workload"]["adCounter"]
    counter["impressions"] = body["spec"]["replicas"] * 15
    return body


@pytest.mark.parametrize("name", ["client-server", "full-mesh"])
def test_an_example_converges(new_subject: NewSubject, name: str) -> None:
    body = example(name)
    subject = new_subject(body["metadata"]["name"])
    subject.apply(body)
    run = subject.wait_finished().workload
    views = {node.name: set(node.active) for node in subject.nodes()}
    assert run.value == run.increments_sum >= run.threshold
    if name == "client-server":
        server = f"{subject.name}-0"
        assert all(view == {server} for node, view in views.items() if node != server)
    else:
        assert all(view == views.keys() - {node} for node, view in views.items())
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
