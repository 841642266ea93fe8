"""The page of a run, and the figures of the documents' pictures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.simulate.cli import BENCH
from scale_tests.benches.simulate.plan import Job
from scale_tests.benches.simulate.runner import Outcome, outcome
from scale_tests.benches.simulate.tests.conftest import Conclude


def lines(
    experiment: str, fault: str, values: Mapping[Any, float], *, nodes: int = 10_000
) -> list[dict[str, Any]]:
    names = {"experiment": experiment, "overlay": fault, "nodes": nodes}
    return [{**names, "parameter": name, "value": value} for name, value in values.items()]


OVERLAY = {
    "killed": 5000,
    "least_reach": 94.84,
    "most_components": 209,
    "survivors_connected": 0.2,
    "messages_per_node_second": 4.13,
    "frame_bytes_per_node_second": 701.4,
}
COUNTER = {
    "frame_bytes_per_node_second": 320,
    "payload_bytes_per_node_second": 100,
    "increments": 2554,
    "value": 2537,
    "lost": 17,
    "seconds_to_converge": 13,
}
CALM = {"frame_bytes_per_node_second": 149, "payload_bytes_per_node_second": 70}


def done() -> list[Outcome]:
    """A kill after which the overlay was never whole again, and the counts of another."""
    kill = Job(experiment="churn_kill", seed=3)
    counter = Job(experiment="churn_counter_delta", nodes=128, seed=3)
    took = {"finished": "x", "seconds": 2.0, "cpu_seconds": 1.0, "otp": "27"}
    return [
        outcome(
            kill,
            [
                *lines("churn", "kill_50", OVERLAY),
                *lines("churn_reach", "kill_50", {0.05: 94.84, 1.0: 100.0}),
                took,
            ],
        ),
        outcome(
            counter,
            [
                *lines("churn_counter_delta", "kill_50", COUNTER, nodes=128),
                *lines("churn_counter_delta", "calm", CALM, nodes=128),
                took,
            ],
        ),
    ]


@pytest.fixture
def written(conclude: Conclude) -> Path:
    """The directory of a run."""
    return conclude(*done())


def test_a_fault_has_its_reach_its_times_and_its_bytes(written: Path) -> None:
    text = (written / "README.md").read_text()
    assert "| 50 % killed at once | 10,000 | 5,000 | 94.84 | 209 | 0.20 | never | 4.13 | 701 |" in (
        text
    )
    assert "| Delta | no fault | 128 |  |  |  | 149 | 70 |  |" in text
    assert "| Delta | 50 % killed at once | 128 | 2,554 | 2,537 | 17 | 320 | 100 | 13 |" in text
    assert "--seed 3 --only churn_kill churn_counter_delta --out DIRECTORY" in text
    assert "MISSED" in text


def test_the_picture_of_the_survivors_is_on_the_page(written: Path) -> None:
    assert "(churn_reach.svg)" in (written / "README.md").read_text()
    assert (written / "report.html").read_text().count("<figure><svg") == 1


def test_the_documents_pictures_are_drawn_from_a_result(written: Path, tmp_path: Path) -> None:
    assert BENCH.main(["draw", "--out", str(written), "--into", str(tmp_path)]) == 0
    drawn = (tmp_path / "simulated-churn_reach.svg").read_text()
    assert drawn == (written / "churn_reach.svg").read_text()
    assert [file.name for file in tmp_path.glob("*.svg")] == ["simulated-churn_reach.svg"]


def test_a_missing_result_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert BENCH.main(["draw", "--out", str(tmp_path)]) == 1
    assert "simulate.json" in capsys.readouterr().err
