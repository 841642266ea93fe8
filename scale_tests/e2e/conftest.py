"""One cluster and one operator for all tests; a namespace for each file; evidence on failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from typing import cast

import pytest

from scale_tests.e2e.subject import Subject, remove_namespace
from scale_tests.harness import environment as environments
from scale_tests.harness import operator
from scale_tests.harness.commands import ROOT
from scale_tests.harness.environment import Environment
from scale_tests.harness.kube import Cluster
from scale_tests.harness.must_gather import must_gather

MUST_GATHER = ROOT / "build" / "must-gather"

NewSubject = Callable[..., Subject]
"""Takes a cluster's name and returns the subject, which does not exist yet."""


@pytest.fixture(scope="session")
def environment(pytestconfig: pytest.Config) -> Iterator[Environment]:
    """A cluster with our images; a local one that was not there before is removed again."""
    before = environments.existing()
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    # The first time builds Kubernetes for some minutes: somebody wants to see it advance.
    with capture.global_and_fixture_disabled():
        environment = environments.bring_up()
    yield environment
    if before is None:
        environments.take_down()


@pytest.fixture(scope="session")
def cluster(environment: Environment) -> Cluster:
    """The connection to its API server."""
    return Cluster(environment.kubeconfig)


@pytest.fixture(scope="session", autouse=True)
def installed(environment: Environment, cluster: Cluster) -> Iterator[None]:
    """The operator, installed from the chart; on a cluster of one's own only where none is."""
    if not environment.local and cluster.find(operator.CRD):
        pytest.exit(
            "the cluster of KUBECONFIG has PartisanClusters defined already: the tests would "
            "replace its operator. Remove it, or choose another cluster.",
            returncode=2,
        )
    operator.install(environment)
    yield
    operator.uninstall(environment)


@pytest.fixture(scope="module")
def namespace(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[str]:
    """A namespace for one file of tests, which enforces the restricted pod security standard."""
    module = cast(str, request.module.__name__).rpartition(".")[2]
    name = "e2e-" + module.removeprefix("test_").replace("_", "-")
    remove_namespace(cluster, name)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.create("api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    failed = request.session.testsfailed
    yield name
    if request.session.testsfailed > failed:
        must_gather(cluster, name, MUST_GATHER / f"{name}-end")
    remove_namespace(cluster, name)


@pytest.fixture(scope="module")
def new_subject(environment: Environment, cluster: Cluster, namespace: str) -> NewSubject:
    """Makes subjects in the file's namespace."""
    return lambda name: Subject(environment, cluster, namespace, name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Saves the state of the namespace at the moment at which a test fails."""
    report = yield
    values = getattr(item, "funcargs", {})
    if report.failed and "namespace" in values and "cluster" in values:
        name = re.sub(r"[^a-zA-Z0-9]+", "-", item.name).strip("-")
        directory = must_gather(values["cluster"], values["namespace"], MUST_GATHER / name)
        report.sections.append(("must-gather", f"The state of the cluster is in {directory}"))
    return report
