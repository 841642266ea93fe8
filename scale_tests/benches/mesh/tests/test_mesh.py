"""The ladder of sizes, and the reading of the cells."""

import json
from pathlib import Path

import pytest

from scale_tests.benches.mesh import cli, report, run
from scale_tests.benches.mesh.cli import next_size, remaining
from scale_tests.benches.mesh.run import Best, command
from scale_tests.benches.mesh.systems import SYSTEMS
from scale_tests.cluster.fleet import Plan, fleet
from scale_tests.cluster.wait import wait_for
from scale_tests.measure.spread import Cell

MESH, LOWER = SYSTEMS[0], SYSTEMS[1]


def cell(nodes: int, held: bool = True, system: str = "ours", overlay: str = "hyparview") -> Cell:
    figures: Cell = {"cpu_s_per_node": 1.0, "memory_mb_per_node": 20.0, "otp": "27"}
    outcome: Cell = {"formed": held, "formed_s": 1.0 if held else None, "held_s": 45.0 * held}
    ended = {"ended_by": None if held else "not formed"}
    return {"system": system, "overlay": overlay, "nodes": nodes, "held": held} | (
        figures | outcome | ended
    )


@pytest.mark.parametrize(
    ("done", "left"),
    [
        ([], [8, 16]),
        ([cell(8)], [16]),
        ([cell(8), cell(16, False)], [12]),
        ([cell(8), cell(16, False), cell(12)], []),
        ([cell(8), cell(16, False), cell(12, False)], []),
        ([cell(8, False)], [4]),
        ([cell(8, False), cell(4)], []),
        ([cell(8, False), cell(4, False)], []),
        ([cell(8), cell(16)], []),
    ],
)
def test_sizes_grow_until_one_is_lost_and_end_half_way(done: list[Cell], left: list[int]) -> None:
    assert next_size(done, (8, 16)) == next(iter(left), None)
    assert remaining(done, (8, 16)) == left


def test_the_plan_counts_what_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cells").mkdir()
    first, left = cli.SIZES[0], 2 * len(cli.SIZES) - 1
    done = tmp_path / "cells" / f"ours-static-{first}-full.json"
    done.write_text(json.dumps(cell(first, overlay="static")))
    assert cli.BENCH.main(["--plan", "--out", str(tmp_path), "ours-static", "ours-hiscamp"]) == 0
    assert f"{left} cells of 2 systems are left, at most: about " in capsys.readouterr().out
    assert [*tmp_path.rglob("*.json")] == [done]


@pytest.mark.parametrize("quick", [False, True])
def test_a_published_document_of_the_same_extent_is_continued(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, quick: bool
) -> None:
    published = {"meta": {"quick": quick}, "cells": [cell(cli.SIZES[0], overlay="static")]}
    (tmp_path / "bench-mesh.json").write_text(json.dumps(published))
    assert cli.BENCH.main(["--plan", "--out", str(tmp_path), "ours-static"]) == 0
    left = len(cli.SIZES) - (not quick)
    assert f"{left} cells of 1 systems are left" in capsys.readouterr().out


def test_a_result_has_every_cell_that_is_done(tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    done = {nodes: cell(nodes, overlay="static") for nodes in (64, 8, 512)}
    # Its emulators have ended by themselves.
    done[512] |= {"held": False, "cpu_s_per_node": None, "memory_mb_per_node": None}
    for nodes, one in done.items():
        (tmp_path / "cells" / f"ours-static-{nodes}-full.json").write_text(json.dumps(one))
    (tmp_path / "cells" / "ours-static-16-quick.json").write_text(json.dumps(cell(16)))
    arguments = ["--out", str(tmp_path), "ours-static", "--nodes", "64", "8"]
    # Both sizes are done: nothing is started.
    assert cli.BENCH.main(arguments) == 0
    (document,) = tmp_path.glob("*.json")
    assert [one["nodes"] for one in json.loads(document.read_text())["cells"]] == [8, 64, 512]


@pytest.mark.parametrize("given", ["0", "1", "5000", "many"])
def test_a_size_that_cannot_be_is_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.BENCH.main(["--plan", "--nodes", given])
    assert f"argument --nodes: '{given}' is no number of nodes" in capsys.readouterr().err


def test_nodes_are_ended_before_memory_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(nodes=1, overlay="{full_mesh, #{}}")
    with fleet(plan, release=tmp_path) as started:
        started.command = lambda _: ("sleep", "600")
        started.start(0)
        with run.within_memory(started) as check:
            assert check()
            monkeypatch.setattr(run, "RESERVE_BYTES", 1 << 60)
            started.processes[0].wait()
            with pytest.raises(run.MemoryEndedError) as error:
                wait_for("the end", check, lambda _: False)
    assert error.value.figures["memory_mb_per_node"] > 0


def test_a_cluster_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "command", lambda *_: ["sleep", "600"])
    monkeypatch.setattr(run, "FORMATION_SECONDS", 0)
    found = run.measure(MESH, tmp_path, nodes=1, tick_seconds=1.0)
    assert (found["formed"], found["ended_by"]) == (False, "not formed in 0 minutes")
    assert found["memory_mb_per_node"] > 0


def test_a_ring_names_each_node() -> None:
    (ring,) = (system for system in SYSTEMS if system.overlay == "static")
    assert ring.configured(2) == (
        "{static, #{edges => [{0, 1}, {1, 0}], "
        'peers => [{<<"fleet-0">>, <<"127.0.3.1">>, 7946}, '
        '{<<"fleet-1">>, <<"127.0.3.2">>, 7946}]}}'
    )


def test_a_mesh_is_whole_when_every_node_lists_all_others() -> None:
    views = {"a": frozenset("bc"), "b": frozenset("ac"), "c": frozenset("ab")}
    assert MESH.is_whole(views, 3)
    assert not MESH.is_whole(views | {"c": frozenset("a")}, 3)
    assert not MESH.is_whole(views, 4)
    ring = {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("a")}
    assert SYSTEMS[-1].is_whole(ring, 3)


def test_a_node_connects_to_the_seed_or_to_all_before_it() -> None:
    assert command(MESH, 2)[-2:] == ["fleet-2@127.0.3.3", "fleet-0@127.0.3.1"]
    assert command(MESH, 0)[-2:] == ["main", "fleet-0@127.0.3.1"]
    assert command(LOWER, 2)[-2:] == ["fleet-0@127.0.3.1", "fleet-1@127.0.3.2"]


@pytest.mark.parametrize(
    ("theirs", "value", "ok"),
    [
        (
            [cell(64, True, "disterl"), cell(102, False, "disterl")],
            "1024 over 64 or more, less than 102",
            True,
        ),
        (
            [cell(64, True, "disterl"), cell(128, False, "disterl")],
            "1024 over 64 or more, less than 128",
            None,
        ),
        ([cell(64, True, "disterl")], "1024 over 64 or more", None),
    ],
)
def test_the_multiple_is_over_a_size_that_the_other_system_lost(
    theirs: list[Cell], value: str, ok: bool | None
) -> None:
    checks = report.checks([cell(1024), *theirs])
    assert [(check.value, check.ok) for check in checks] == [(value, ok)]
    [table] = report.tables(theirs).values()
    assert len(table.rows) == len(theirs)


def test_links_that_come_and_go_are_no_progress() -> None:
    best = Best(3)
    pair = {"a": frozenset("b"), "b": frozenset("a")}
    apart = {name: frozenset[str]() for name in "abc"}
    whole = {"a": frozenset("b"), "b": frozenset("ac"), "c": frozenset("b")}
    found = [best(views) for views in (apart, pair, apart, pair, whole, pair)]
    assert found == [(0, 3), (1, 2), (1, 2), (1, 2), (2, 1), (2, 1)]
