"""An experiment from its file to its report: two small cells, interrupted between them."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from scale_tests.benches.experiments import runner, store
from scale_tests.benches.experiments.cli import BENCH, find
from scale_tests.benches.experiments.experiment import Experiment, load
from scale_tests.benches.experiments.report import Report, conclude
from scale_tests.benches.experiments.selection import Selection
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json
from scale_tests.measure import document
from scale_tests.measure.bench import Session
from scale_tests.measure.cells import Result

FILE = find(Path("experiments/smoke.yaml"))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """The run of the experiment, with the directory that keeps it."""
    directory = tmp_path_factory.mktemp("scale")
    return Session(bench=BENCH, options=Namespace(out=directory))


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return load(FILE)


@pytest.fixture(scope="module")
def first(environment: Environment, experiment: Experiment, session: Session) -> Result:
    """The smaller cell, run alone, as if the experiment had been interrupted after it."""
    smaller = Selection(sizes=experiment.sizes[:1])
    (cell,) = runner.run(session, experiment, environment, selection=smaller)
    return cell


@pytest.fixture(scope="module")
def results(
    first: Result, environment: Environment, experiment: Experiment, session: Session
) -> list[Result]:
    """All cells."""
    return runner.run(session, experiment, environment)


@pytest.fixture(scope="module")
def written(experiment: Experiment, results: list[Result], session: Session) -> list[Json]:
    """The checks of the report."""
    found = Report(experiment=experiment, results=results, left_out=store.left_out(session))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "RESULTS", session.directory)
        conclude(session, found)
    measured: Json = json.loads((session.directory / "scale.json").read_text())
    return list(measured["bars"])


def test_every_cell_converges_and_holds_its_thresholds(written: list[Json]) -> None:
    assert written
    assert [check for check in written if not check["ok"]] == []


def test_a_cell_that_was_done_is_not_run_again(first: Result, results: list[Result]) -> None:
    assert results[0] == first
    assert [cell.nodes for cell in results] == [4, 6]


def test_a_cell_that_is_done_is_no_longer_left_out(results: list[Result], session: Session) -> None:
    assert len(results) == 2
    assert store.left_out(session) == {}


def test_bytes_are_counted_three_ways(results: list[Result]) -> None:
    for cell in results:
        assert cell.bytes_tcp is not None
        assert 0 < cell.bytes_payload < cell.bytes_frames
        # The kernel's count includes handshakes and heartbeats; both counts are of all nodes,
        # which are read one after the other while they talk on.
        assert cell.bytes_frames < 1.05 * cell.bytes_tcp
        assert cell.bytes_tcp < 3 * cell.bytes_frames


def test_every_node_reports_when_it_joined_and_what_it_used(results: list[Result]) -> None:
    for cell in results:
        assert len(cell.members) == cell.nodes
        for member in cell.members:
            assert member.seconds_to_boot is not None
            assert member.seconds_to_joined is not None
            assert member.seconds_to_ready is not None
            assert member.seconds_to_boot < member.seconds_to_joined
            assert member.memory_bytes > 1 << 20
            assert member.cpu_seconds > 0


def test_nothing_of_a_cell_is_left(results: list[Result], cluster: Cluster) -> None:
    assert [cell.left for cell in results] == [(), ()]
    assert not cluster.list("apis/partisan.dev/v1alpha1/namespaces/scale-smoke/partisanclusters")
    assert not cluster.list("api/v1/namespaces/scale-smoke/pods")


@pytest.mark.usefixtures("written")
def test_the_report_has_pictures_for_people_and_figures_for_scripts(session: Session) -> None:
    page = (session.directory / "report.html").read_text()
    assert "Time compression 100" in page
    assert page.count("<svg") == 7
    assert (session.directory / "scale.json").exists()
