"""Stored cells, from which an interrupted run resumes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scale_tests.benches.experiments.store import Store, StoreError, write_changed
from scale_tests.benches.experiments.tests.cells import experiment, result


def test_a_finished_cell_is_found_again_as_it_was(tmp_path: Path) -> None:
    point = experiment().points()[0]
    store = Store(tmp_path)
    assert store.find(point) is None
    store.save(point, result(point))
    assert store.find(point) == result(point)
    assert [file.name for file in (tmp_path / "cells").iterdir()] == [f"{point.slug}.json"]


def test_a_cell_of_another_configuration_is_refused(tmp_path: Path) -> None:
    point = experiment().points()[0]
    Store(tmp_path).save(point, result(point))
    with pytest.raises(StoreError, match="choose another directory with --out"):
        Store(tmp_path).find(experiment(speedup=10).points()[0])


def test_a_file_that_is_no_cell_is_named(tmp_path: Path) -> None:
    point = experiment().points()[0]
    store = Store(tmp_path)
    store.file(point).parent.mkdir()
    store.file(point).write_text("{}")
    with pytest.raises(StoreError, match=point.slug):
        store.find(point)


def test_results_are_of_the_points_that_are_done(tmp_path: Path) -> None:
    first, second, *_ = experiment().points()
    store = Store(tmp_path)
    store.save(second, result(second))
    assert store.results([first, second]) == {second.slug: result(second)}


def test_why_cells_were_left_out_is_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.left_out() == {}
    store.save_left_out({"a": "no room"})
    assert store.left_out() == {"a": "no room"}
    (tmp_path / "left-out.json").write_text("{")
    with pytest.raises(StoreError, match=r"left-out\.json"):
        store.left_out()


def test_a_file_is_not_written_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    write_changed(file, "text")
    os.utime(file, (1, 1))
    write_changed(file, "text")
    assert file.stat().st_mtime == 1
    write_changed(file, "other")
    assert file.read_text() == "other"
