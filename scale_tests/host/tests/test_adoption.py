"""The file of measurements that several commands share."""

import fcntl
import json
from pathlib import Path

import pytest

from scale_tests.host import adoption


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "adoption.json"


def test_a_part_is_written_next_to_those_of_others(path: Path) -> None:
    with adoption.updated(path) as results:
        assert results == {}
        results["release"] = {"version": "1.2.3"}
    with adoption.updated(path) as results:
        results["words"] = {"readme": 700}
    assert json.loads(path.read_text()) == {
        "release": {"version": "1.2.3"},
        "words": {"readme": 700},
    }


def test_an_error_leaves_the_results_as_they_were(path: Path) -> None:
    with adoption.updated(path) as results:
        results["words"] = {}
    before = path.read_text()

    def fail() -> None:
        with adoption.updated(path) as results:
            results["words"] = {"readme": 1}
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert path.read_text() == before


def test_another_writer_waits(path: Path) -> None:
    with (
        adoption.updated(path),
        path.with_suffix(".lock").open() as other,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
