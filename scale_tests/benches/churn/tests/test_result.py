"""From a recording to figures, claims, a page and pictures."""

import argparse
import json
from pathlib import Path

import pytest

from scale_tests.benches.churn.cli import BENCH
from scale_tests.benches.churn.report import Report
from scale_tests.benches.churn.result import exact, outcome
from scale_tests.benches.churn.scenario import Scenario
from scale_tests.benches.churn.tests.recordings import INCARNATIONS, NAMES, kill, node, ring, sample
from scale_tests.benches.churn.timeline import Phase, Sample
from scale_tests.measure import document
from scale_tests.measure.bench import Session


def recording() -> tuple[Phase, list[Sample]]:
    """One of four killed at 10 s; the survivors are one again at 12 s, all at 14 s."""
    phase = kill("churn-0")
    phase.whole_at, phase.accounted_at = 14.0, 15.0
    survivors = (node("churn-1", ["churn-2"]), node("churn-2", []), node("churn-3", ["churn-0"]))
    mended = (*survivors[:2], node("churn-3", ["churn-2"]))
    back = (node("churn-0", ["churn-1"], incarnation=99), *mended)
    return phase, [
        sample(9, ring(), increments=20),
        sample(11, survivors, increments=22),
        sample(12, mended, increments=24),
        sample(14, back, increments=30, lost=1, replaced=1),
        sample(15, back, increments=32, lost=1, replaced=1),
    ]


def report(phase: Phase, samples: list[Sample], last: Sample | None = None) -> Report:
    """The report of a scenario of one fault."""
    return Report(
        scenario=Scenario(nodes=4, kills=(), partition_seconds=0),
        phases=[phase],
        samples=samples,
        last=last,
        versions={"kubernetes": "v1"},
    )


def test_times_count_from_the_end_of_the_fault() -> None:
    found = outcome(*recording())
    assert (found.survivors_connected, found.one_component, found.accounted) == (2, 4, 5)
    assert found.least_reach_percent == pytest.approx(66.7)
    assert (found.killed, found.increments, found.lost, found.restarted) == (1, 12, 1, ())
    assert found.told is None


def test_a_partition_is_reported_from_its_beginning() -> None:
    phase = Phase(
        name="partition",
        kind="partition",
        at=10,
        incarnations=INCARNATIONS,
        sides=(frozenset(NAMES[:2]), frozenset(NAMES[2:])),
        until=70,
        whole_at=75,
    )
    samples = [
        sample(9, ring()),
        sample(30, ring(), components=2),
        sample(72, ring(), components=2),
        sample(75, ring()),
    ]
    found = outcome(phase, samples)
    assert (found.told, found.lasted, found.one_component) == (20, 60, 5)
    assert found.least_reach_percent == 50


def test_a_recovery_that_never_came_misses_its_target() -> None:
    phase, samples = recording()
    phase.whole_at = phase.accounted_at = None
    held = report(phase, samples).checks(())
    assert [check.ok for check in held] == [False, False, False, False, True]


def test_all_targets_are_met_by_a_recording_without_fault() -> None:
    phase, samples = recording()
    last = sample(20, ring(value=31), increments=32, lost=1, replaced=1)
    assert all(check.ok for check in report(phase, samples, last).checks(()))


def test_the_count_is_exact_or_it_is_not() -> None:
    assert exact(sample(1, ring(value=10), increments=12, lost=2))
    assert not exact(sample(1, ring(value=10), increments=11))
    assert not exact(sample(1, (*ring(value=10)[:3], node("churn-3", [], value=9)), increments=10))


def test_a_survivor_that_was_restarted_misses_its_target() -> None:
    phase, samples = recording()
    samples.insert(3, sample(13, (node("churn-1", [], incarnation=99),)))
    assert outcome(phase, samples).restarted == ("churn-1",)
    missed = [check.name for check in report(phase, samples).checks(()) if not check.ok]
    assert missed[-1].startswith("survivors")


def test_counts_are_the_replicas_values_and_the_due_increments() -> None:
    phase, samples = recording()
    last = sample(20, ring(value=31), increments=32, lost=1, replaced=1)
    fault, end = report(phase, samples, last).accounts
    # At 14 s 30 had been made and one of them lost; at 15 s all replicas held 10.
    assert [*fault.values()] == ["kill", 29, 10, 10, 32, 1]
    assert [*end.values()] == ["end of the count", 31, 31, 31, 32, 1]


def test_a_recovery_that_never_came_has_no_counts() -> None:
    phase, samples = recording()
    phase.accounted_at = None
    assert report(phase, samples).accounts == []


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a recording that did not come to its end."""
    phase, samples = recording()
    found = report(phase, samples)
    monkeypatch.setattr(document, "RESULTS", tmp_path)
    directory = tmp_path / "out" / "churn"
    session = Session(bench=BENCH, options=argparse.Namespace(out=directory), quick=True)
    session = session.reported(found)
    assert session.conclude(found.cells(), versions=found.versions) == 1
    return directory


def test_the_result_is_written_where_it_is_asked_for(written: Path) -> None:
    figures = [cell["figure"] for cell in json.loads((written / "churn.json").read_text())["cells"]]
    assert figures == ["fault", "account", *["sample"] * 5]
    page = (written / "README.md").read_text()
    assert "| kill | 1 | 66.7 | 2.0 | 4.0 | 5.0 |  | 12 | 1 |" in page
    assert "| kill | 29 | 10 | 10 | 1 | 32 |" in page
    assert "Every node is a pod" in page
    assert "shorter faults" in page


def test_every_picture_is_in_the_html_and_beside_the_markdown(written: Path) -> None:
    pictures = {"churn.svg", "churn-recovery.svg", "churn-bytes.svg"}
    assert {file.name for file in written.glob("*.svg")} == pictures
    page, html = (written / "README.md").read_text(), (written / "report.html").read_text()
    assert all(f"({picture})" in page for picture in pictures)
    assert html.count("<figure><svg") == len(pictures)
