"""A run from its command line to its report, on a scripted cluster."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from scale_tests.benches.experiments import cell, cli, pictures, runner
from scale_tests.benches.experiments.cell import Say
from scale_tests.benches.experiments.course import Place
from scale_tests.benches.experiments.experiment import Point
from scale_tests.benches.experiments.tests.cells import DOCUMENT, result, write
from scale_tests.cluster import environment as environments
from scale_tests.cluster.capacity import Capacity
from scale_tests.cluster.environment import Environment, from_variables
from scale_tests.measure import document
from scale_tests.measure.cells import Result

THRESHOLDS = [
    {"figure": "bytes_payload", "most": "1GiB", "nodes": 8},
    {"figure": "bytes_payload", "most": "1GiB", "nodes": 16},
]


class Nothing:
    """A cluster in which nothing is, and which takes everything."""

    def __init__(self, _kubeconfig: Path) -> None:
        """As a cluster is made."""

    def create(self, *_: Any) -> None:
        """Takes an object."""

    def delete(self, *_: Any) -> None:
        """Has removed it."""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The cells that are run, each of which goes well, where there is room for ten pods."""
    slugs: list[str] = []

    def run(_place: Place, point: Point, _say: Say) -> Result:
        slugs.append(point.slug)
        return result(point)

    def existing() -> Environment:
        return from_variables({"KUBECONFIG": "own"}, pushing=False)

    monkeypatch.setattr(cell, "run", run)
    monkeypatch.setattr(environments, "existing", existing)
    monkeypatch.setattr(runner, "Cluster", Nothing)
    monkeypatch.setattr(runner, "renew_namespace", lambda *_, **__: None)
    monkeypatch.setattr(runner, "capacity", lambda _: Capacity(limit=12, taken=2))
    monkeypatch.setattr(pictures, "PICTURES", ())
    monkeypatch.setattr(document, "RESULTS", tmp_path / "latest")
    return slugs


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path, yaml.safe_dump({**DOCUMENT, "thresholds": THRESHOLDS}))


def _run(file: Path, *options: str) -> Path:
    """Runs it without a missed target, and returns its directory."""
    out = file.parent / "out"
    assert cli.BENCH.main(["run", str(file), "--installed", "--out", str(out), *options]) == 0
    return out


def _reasons(directory: Path) -> set[str]:
    meta = json.loads((directory / "scale.json").read_text())["meta"]
    return {missing["reason"] for missing in meta["not_run"]}


def test_unselected_cells_stay_in_the_experiment_and_its_report(ran: list[str], file: Path) -> None:
    out = _run(file, "--sizes", "8", "--overlays", "HyParView")
    assert ran == ["0008-hyparview-state-1", "0008-hyparview-tree-1"]
    assert yaml.safe_load((out / "experiment.yaml").read_text())["sizes"] == [16, 8]
    assert _reasons(out) == {"not asked for: --sizes 8 --overlays HyParView"}
    _run(file, "--overlays", "ClientServer", "--sizes", "8")
    assert len(ran) == 4
    page = (out / "README.md").read_text()
    assert "4 of 8 cells" in page
    assert "| bytes_payload (16 nodes) | - | <= 1 GiB | not run |" in page


def test_cells_without_room_are_left_out_with_the_reason(ran: list[str], file: Path) -> None:
    out = _run(file)
    assert len(ran) == 4
    room = "the cluster has room for 10 more pods"
    assert _reasons(out) == {room}
    _run(file, "--sizes", "8")
    assert _reasons(out) == {room}
    assert cli.BENCH.main(["report", str(out)]) == 0
    assert _reasons(out) == {room}


def test_once_there_is_room_nothing_is_left_out(
    ran: list[str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(file)
    monkeypatch.setattr(runner, "capacity", lambda _: Capacity(limit=100, taken=2))
    out = _run(file)
    assert len(ran) == 8
    assert _reasons(out) == set()
    assert "Cells that were not run" not in (out / "README.md").read_text()


@pytest.mark.usefixtures("ran")
def test_the_experiment_is_not_written_again_as_it_is(file: Path) -> None:
    kept = _run(file, "--sizes", "8") / "experiment.yaml"
    os.utime(kept, (1, 1))
    _run(file, "--sizes", "16")
    assert kept.stat().st_mtime == 1


@pytest.mark.usefixtures("ran")
def test_another_experiment_does_not_replace_the_one_that_the_directory_has(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = _run(file) / "experiment.yaml"
    before = kept.read_text()
    out = str(kept.parent)
    assert cli.BENCH.main(["run", str(file), "--installed", "--out", out, "--speedup", "10"]) == 1
    assert "choose another directory with --out" in capsys.readouterr().err
    assert kept.read_text() == before
