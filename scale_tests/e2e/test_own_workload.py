"""A user's modules in an image built on ours: erlang-app.md, own-overlay.md of docs/tutorials."""

import re
import shutil
from typing import Any

import pytest
import yaml

from scale_tests.cluster.environment import Environment, add_image
from scale_tests.cluster.kube import Json
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.shapes import is_ring, views_of
from scale_tests.host.commands import ROOT

EXAMPLE = ROOT / "examples" / "own-workload"
NODES = 6


@pytest.fixture(scope="module")
def image(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example's image with the overlay of own-overlay.md, where the cluster pulls it."""
    directory = tmp_path_factory.mktemp("image") / EXAMPLE.name
    shutil.copytree(EXAMPLE, directory)
    page = (ROOT / "docs" / "tutorials" / "own-overlay.md").read_text()
    found = re.search(r"^```erlang\n(-module\(circle\)\..*?)^```", page, re.DOTALL | re.MULTILINE)
    assert found
    (directory / "src" / "circle.erl").write_text(found[1])
    return add_image(environment, str(directory))


def example(name: str, image: str, **custom: Any) -> Json:
    """The example's manifest under another name; `custom` replaces parts of its workload."""
    body: Json = yaml.safe_load((EXAMPLE / "cluster.yaml").read_text())
    body["metadata"]["name"] = name
    body["spec"]["image"] = image
    body["spec"]["workload"]["custom"] |= custom
    return body


def run_of(subject: Subject) -> Json:
    """The run, as the operator reports it."""
    run: Json = subject.json()["status"]["workload"]
    return run


def wait_heard(subject: Subject, rumours: int) -> None:
    """Waits until each node's metrics show so many rumours."""
    wait_for(
        f"{rumours} rumours",
        lambda: [subject.metrics(pod) for pod in subject.pods()],
        lambda pages: all(f"\nrumours_heard {rumours}\n" in page for page in pages),
        progress=lambda pages: tuple("rumours_heard" in page for page in pages),
    )


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
    wait_heard(subject, 3)
    # One more node, which receives all rumours, and whose rumour all receive.
    subject.patch(replicas=4)
    subject.wait("the fourth node counted", lambda s: s.finished and s.joined == 4)
    wait_heard(subject, 4)


def test_a_module_that_the_image_lacks_is_reported_and_another_one_runs(
    new_subject: NewSubject, image: str
) -> None:
    subject = new_subject("misspelt")
    subject.apply(example("misspelt", image, module="rumors"))
    subject.wait_degraded("CrashLooping", "the image has no module rumors", "misspelt-")
    subject.patch(workload={"custom": {"module": "rumours"}})
    subject.wait_finished()
    assert run_of(subject)["value"] == 3


def test_an_argument_that_does_not_fit_is_reported(new_subject: NewSubject, image: str) -> None:
    subject = new_subject("hasty")
    subject.apply(example("hasty", image, arguments=[{"name": "interval", "value": "soon"}]))
    subject.wait_degraded("CrashLooping", "interval of rumours must be an integer above 0")


def test_a_counting_cluster_switches_to_a_users_overlay_and_back(
    new_subject: NewSubject, image: str
) -> None:
    subject = new_subject("circling")
    workload = {"adCounter": counter(NODES, LASTING)}
    subject.apply(manifest("circling", NODES, image=image, workload=workload))
    subject.wait_counted(NODES)
    before = subject.incarnations()
    custom = {"module": "circle", "parameters": [{"name": "period", "value": 250}]}
    subject.patch(overlay={"kind": "Custom", "custom": custom})
    subject.wait("all nodes run circle", lambda s: s.overlay == "Custom" and s.reconfigured)
    wait_for("a ring", lambda: views_of(subject.nodes()), is_ring)
    subject.patch(overlay={"kind": "HyParView", "custom": None})
    back = subject.wait("back", lambda s: s.overlay == "HyParView" and s.reconfigured)
    assert back.workload.phase == "Running"
    run = subject.end_run().workload
    assert run.value == run.increments_sum >= run.threshold
    assert (run.lost_increments, run.replaced_nodes) == (0, 0)
    assert {node.value for node in subject.nodes()} == {run.value}
    assert subject.incarnations() == before
    subject.delete()
