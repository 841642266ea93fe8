"""One cluster and one operator for all tests; a namespace for each file; evidence on failure."""

import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from scale_tests.cluster import environment as environments
from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.must_gather import must_gather
from scale_tests.cluster.removal import remove_namespace, renew_namespace
from scale_tests.cluster.subject import Subject
from scale_tests.host import files
from scale_tests.host.commands import ROOT, capture

MUST_GATHER = ROOT / "build" / "must-gather"

LOCK = ROOT / "build" / "e2e.lock"
"""Held by every file of tests; a file that is marked `alone` does not share it."""

TURN = LOCK.with_name("e2e-turn.lock")
"""Held while a file waits for `LOCK`: no other that shares it passes one that waits for all."""

OPERATOR_LOCK = LOCK.with_name("e2e-operator.lock")
"""Held by every file of tests; a disruption of the operator does not share it."""

ANOTHER_OPERATOR = LOCK.with_name("e2e-another-operator")
"""There while the operator may be another than the one that all tests find."""

LONGEST = (
    "test_machines",
    "test_main_flow",
    "test_monitoring",
    "test_faulty_nodes",
    "test_overlays",
    "test_reconfiguration",
    "test_faults",
    "test_churn",
    "test_rollouts",
    "test_certificates",
    "test_scaling",
    "test_own_workload",
    "test_elixir",
    "test_interference",
    "test_walkthrough",
)
"""The files that take minutes. They start first, so that all workers end together: the short files
fill the gaps."""

NewSubject = Callable[..., Subject]
"""Takes a cluster's name and returns the subject, which does not exist yet."""

Plugin = Callable[..., str]
"""Runs `kubectl partisan` with these words in the file's namespace, `stdin` as its input; returns
its output."""


Disruption = Callable[[], AbstractContextManager[None]]
"""A time in which no other file of tests acts; the clusters of other files are there."""


@dataclass(frozen=True)
class Prepared:
    """Whether parts were there before the tests."""

    cluster: bool


_PREPARED = pytest.StashKey[Prepared]()


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marks of files that disturb others."""
    config.addinivalue_line(
        "markers", "alone: changes what all tests rely on, or installs the operator itself"
    )
    config.addinivalue_line("markers", "disrupts: stops or replaces the operator for a while")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts files first that run alone, then the longest, and last those that disrupt others.

    Those that run alone wait most of the time, which `make test` uses for the unit tests. The last
    of them install operators of their own, so that the usual one comes back once.
    """
    rank = {name: index for index, name in enumerate(LONGEST)}

    def order(item: pytest.Item) -> tuple[bool, bool, bool, int]:
        place = rank.get(item.path.stem, len(rank))
        marks = not is_marked(item, "alone"), installs(item), is_marked(item, "disrupts")
        return *marks, place

    items.sort(key=order)


def is_marked(node: pytest.Item | pytest.Collector, mark: str) -> bool:
    """Whether a test, or a file of tests, has this mark."""
    return node.get_closest_marker(mark) is not None


def installs(node: pytest.Item | pytest.Collector) -> bool:
    """Whether a file of tests is marked `alone(installs=True)`.

    It takes any operator, or none, and may leave another one.
    """
    mark = node.get_closest_marker("alone")
    return mark is not None and bool(mark.kwargs.get("installs"))


def pytest_sessionstart(session: pytest.Session) -> None:
    """A cluster with our images and the operator from the chart, once for all workers.

    On a cluster of one's own the operator is installed only where none is.
    """
    config = session.config
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    config.stash[_PREPARED] = Prepared(cluster=environments.existing() is not None)
    capture = config.pluginmanager.getplugin("capturemanager")
    # The first time builds Kubernetes for some minutes: show the progress.
    with capture.global_and_fixture_disabled():
        environment = environments.bring_up()
    if not environment.local and Cluster(environment.kubeconfig).find(operator.CRD):
        del config.stash[_PREPARED]
        pytest.exit(
            "the cluster of KUBECONFIG has PartisanClusters defined already: the tests would "
            "replace its operator. Remove it, or choose another cluster.",
            returncode=2,
        )
    operator.install(environment)
    ANOTHER_OPERATOR.unlink(missing_ok=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Removes the operator, and a local cluster that was not there before."""
    prepared = session.config.stash.get(_PREPARED, None)
    environment = environments.existing()
    if prepared is None or environment is None:
        return
    operator.uninstall(environment)
    if environment.local and not prepared.cluster:
        environments.take_down()


@pytest.fixture(scope="session")
def environment() -> Environment:
    """The cluster with our images, and with our operator."""
    environment = environments.existing()
    if environment is None:
        pytest.exit("these tests prepare a cluster where they are named: pytest scale_tests/e2e")
    return environment


@pytest.fixture(scope="session")
def cluster(environment: Environment) -> Cluster:
    """The connection to its API server."""
    return Cluster(environment.kubeconfig)


@pytest.fixture(scope="module", autouse=True)
def disruption(request: pytest.FixtureRequest) -> Iterator[Disruption]:
    """The time in which a file of tests may run, with others or alone.

    A file that shares it may stop or replace the operator in a disruption. What it prepares before,
    and removes after, runs while other files do the same.
    """
    with ExitStack() as held, ExitStack() as undisturbed:
        with files.locked(TURN):
            held.enter_context(files.locked(LOCK, shared=not is_marked(request.node, "alone")))

        def share() -> None:
            undisturbed.enter_context(files.locked(OPERATOR_LOCK, shared=True))

        @contextmanager
        def disrupted() -> Iterator[None]:
            undisturbed.close()
            try:
                with files.locked(OPERATOR_LOCK):
                    yield
            finally:
                share()

        share()
        yield disrupted


@pytest.fixture(scope="module", autouse=True)
def usual_operator(
    request: pytest.FixtureRequest, environment: Environment, disruption: Disruption
) -> None:
    """The operator as the chart installs it, unless the file installs others."""
    with files.locked(ANOTHER_OPERATOR.with_suffix(".lock")):
        if installs(request.node):
            ANOTHER_OPERATOR.touch()
        elif ANOTHER_OPERATOR.exists():
            operator.install(environment)
            ANOTHER_OPERATOR.unlink()


@pytest.fixture(scope="module")
def namespace(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[str]:
    """A namespace for one file of tests, which enforces the restricted pod security standard."""
    module = cast(str, request.module.__name__).rpartition(".")[2]
    name = "e2e-" + module.removeprefix("test_").replace("_", "-")
    renew_namespace(cluster, name, restricted=True)
    failed = request.session.testsfailed
    yield name
    if request.session.testsfailed > failed:
        must_gather(cluster, name, MUST_GATHER / f"{name}-end")
    remove_namespace(cluster, name)


@pytest.fixture(scope="module")
def new_subject(environment: Environment, cluster: Cluster, namespace: str) -> NewSubject:
    """Makes subjects in the file's namespace."""
    return lambda name: Subject(environment, cluster, namespace, name)


@pytest.fixture(scope="module")
def partisan(environment: Environment, namespace: str) -> Plugin:
    """The plugin of this checkout."""
    program = [sys.executable, "-m", "partisan_operator.cli.main"]
    variables = {
        **environment.variables,
        "PATH": f"{Path(operator.tool('kubectl')).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "operator" / "src"),
    }
    return lambda *words, stdin=None: capture(
        [*program, *words, "-n", namespace], env=variables, stdin=stdin
    )


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
