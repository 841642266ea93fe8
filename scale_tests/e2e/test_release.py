"""The files of a release, on a cluster without the operator: its manifest and its images."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from images.release import chart, oci
from images.release.__main__ import push
from images.release.build import IMAGES
from images.release.plan import Plan
from images.release.version import version
from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment, load_images
from scale_tests.cluster.subject import manifest
from scale_tests.e2e.conftest import NewSubject

pytestmark = pytest.mark.alone
"""Replaces the operator that all tests rely on."""

NODES = 3

STAY = ("Namespace", "CustomResourceDefinition")
"""Kinds of the manifest that are there before and after."""


@pytest.fixture
def released(environment: Environment, tmp_path: Path) -> Iterator[Plan]:
    """A release of the images that are under test, installed from its manifest."""
    registry = environment.operator_image.rpartition("/")[0]
    plan = Plan(version=version(), registry=registry, directory=tmp_path)
    provide_images(environment, plan)
    text = chart.manifest(plan)
    operator.uninstall_release(environment)
    # Helm has left the CRD, with the clusters of other tests.
    arguments = ("--server-side", "--force-conflicts", "-f", "-")
    operator.kubectl(environment, "apply", *arguments, stdin=text)
    yield plan
    gone = [item for item in yaml.safe_load_all(text) if item["kind"] not in STAY]
    operator.kubectl(environment, "delete", "-f", "-", stdin=yaml.safe_dump_all(gone))
    operator.install(environment)


def provide_images(environment: Environment, plan: Plan) -> None:
    """Writes the release's archives, without other architectures, for the cluster to pull."""
    paths = []
    for image in IMAGES:
        paths.append(plan.file(f"{image.name}.oci.tar"))
        oci.write(paths[-1], plan.image(image.name), oci.read(image.archive), plan.labels)
    if environment.local:
        load_images(*paths)
    else:
        push(plan)


def test_the_manifest_installs_an_operator_that_runs_the_releases_nodes(
    new_subject: NewSubject, environment: Environment, released: Plan
) -> None:
    waiting = ("rollout", "status", f"deployment/{operator.RELEASE}", "-n", operator.NAMESPACE)
    operator.kubectl(environment, *waiting, f"--timeout={operator.HELM_TIMEOUT}")
    subject = new_subject("released")
    subject.apply(manifest("released", NODES, workload=None))
    subject.wait_healthy(NODES)
    used = {pod["spec"]["containers"][0]["image"] for pod in subject.pods().values()}
    assert used == {released.image("erlang-node")}
    assert {node.version for node in subject.nodes()} == {released.version}
    subject.delete()
