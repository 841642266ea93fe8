"""A user's module in an image built on ours, as in docs/own-workload.md."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from scale_tests.cluster.environment import Environment, add_image
from scale_tests.cluster.kube import Json
from scale_tests.cluster.subject import Subject
from scale_tests.e2e.conftest import NewSubject
from scale_tests.host.commands import ROOT


@pytest.fixture(scope="module")
def image(environment: Environment) -> str:
    """The example's image, where the cluster pulls it from."""
    return add_image(environment, "own-workload")


def example(name: str, image: str, **custom: Any) -> Json:
    """The example's manifest under another name; `custom` replaces parts of its workload."""
    path = ROOT / "examples" / "own-workload" / "cluster.yaml"
    body: Json = yaml.safe_load(path.read_text())
    body["metadata"]["name"] = name
    body["spec"]["image"] = image
    body["spec"]["workload"]["custom"] |= custom
    return body


def run_of(subject: Subject) -> Json:
    """The run, as the operator reports it."""
    run: Json = subject.json()["status"]["workload"]
    return run


def test_the_example_runs_to_its_end_and_reports_its_result(
    new_subject: NewSubject, image: str
) -> None:
    subject = new_subject("village")
    subject.apply(example("village", image))
    subject.wait_finished()
    run = run_of(subject)
    assert (run["module"], run["phase"]) == ("rumours", "Finished")
    assert (run["value"], run["threshold"]) == (3, 3)
    assert subject.kubectl("wait", "--for=condition=WorkloadConverged", "pcl/village")
    for pod in subject.pods():
        assert "\nrumours_heard 3\n" in subject.metrics(pod)
    # One more node, which receives all rumours, and whose rumour all receive.
    subject.patch(replicas=4)
    subject.wait("the fourth node counted", lambda s: s.finished and s.joined == 4)
    assert "\nrumours_heard 4\n" in subject.metrics("village-0")


def test_a_module_that_the_image_lacks_is_reported_and_another_one_runs(
    new_subject: NewSubject, image: str
) -> None:
    subject = new_subject("misspelt")
    subject.apply(example("misspelt", image, module="rumors"))
    message = subject.wait_degraded("CrashLooping")
    assert "the image has no module rumors" in message
    assert "misspelt-" in message
    subject.patch(workload={"custom": {"module": "rumours"}})
    subject.wait_finished()
    assert run_of(subject)["value"] == 3


def test_an_argument_that_does_not_fit_is_reported(new_subject: NewSubject, image: str) -> None:
    subject = new_subject("hasty")
    subject.apply(example("hasty", image, arguments=[{"name": "interval", "value": "soon"}]))
    message = subject.wait_degraded("CrashLooping")
    assert "interval of rumours must be an integer above 0" in message
