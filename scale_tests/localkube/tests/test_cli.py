"""Options of the command line, and those that are kept from the run before."""

import json
from pathlib import Path

import pytest

from scale_tests.localkube import __main__ as cli
from scale_tests.localkube import cluster
from scale_tests.localkube.settings import Settings


@pytest.fixture
def brought_up(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Settings of the clusters brought up; the one that is up has 300 pods on each of 2 nodes."""
    found: list[Settings] = []
    monkeypatch.setattr(cluster, "stored", lambda _: Settings(max_pods=300, nodes=2))
    monkeypatch.setattr(cluster, "up", found.append)
    return found


@pytest.mark.parametrize(
    ("options", "max_pods", "nodes"),
    [
        ([], 300, 2),
        (["--nodes", "3"], 300, 3),
        (["--max-pods", "20"], 20, 2),
        (["--nodes", "1", "--max-pods", "250", "--no-reserved"], 250, 1),
    ],
)
def test_options_that_are_not_given_keep_their_values(
    brought_up: list[Settings], options: list[str], max_pods: int, nodes: int
) -> None:
    assert cli.main(["up", *options]) == 0
    assert [(s.max_pods, s.nodes) for s in brought_up] == [(max_pods, nodes)]


def test_a_choice_that_cannot_work_is_named_and_nothing_happens(
    brought_up: list[Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["up", "--nodes", "0"]) == 1
    assert "--nodes is 0: choose 1 to 8" in capsys.readouterr().err
    assert brought_up == []


@pytest.mark.parametrize(
    ("choices", "max_pods", "nodes"),
    [
        (None, 250, 1),
        ({"max_pods": 300}, 300, 1),  # of a version that knew one node
        ({"max_pods": 300, "nodes": 3, "zram_mib": 0}, 300, 3),
    ],
)
def test_choices_are_read_from_the_cluster_that_is_up(
    tmp_path: Path, choices: dict[str, int] | None, max_pods: int, nodes: int
) -> None:
    if choices is not None:
        (tmp_path / "settings.json").write_text(json.dumps(choices))
    stored = cluster.stored(Settings(state=tmp_path))
    assert (stored.max_pods, stored.nodes) == (max_pods, nodes)
