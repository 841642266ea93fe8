"""Stored cells, from which an interrupted run resumes."""

import os
from argparse import Namespace
from pathlib import Path

import pytest

from scale_tests.benches.experiments import store
from scale_tests.benches.experiments.cli import BENCH
from scale_tests.benches.experiments.store import write_changed
from scale_tests.benches.experiments.tests.cells import experiment, result
from scale_tests.host.commands import ExpectedError
from scale_tests.measure.bench import Session


def kept(directory: Path) -> Session:
    """A run that is kept in a directory."""
    return Session(bench=BENCH, options=Namespace(out=directory))


def test_a_finished_cell_is_found_again_as_it_was(tmp_path: Path) -> None:
    point = experiment().points()[0]
    session = kept(tmp_path)
    assert store.find(session, point) is None
    session.keep(point.slug, result(point).json())
    assert store.find(session, point) == result(point)
    assert [file.name for file in (tmp_path / "cells").iterdir()] == [f"{point.slug}.json"]


def test_a_cell_of_another_configuration_is_refused(tmp_path: Path) -> None:
    point = experiment().points()[0]
    session = kept(tmp_path)
    session.keep(point.slug, result(point).json())
    with pytest.raises(ExpectedError, match="choose another directory with --out"):
        store.find(session, experiment(speedup=10).points()[0])


def test_a_file_that_is_no_cell_is_named(tmp_path: Path) -> None:
    point = experiment().points()[0]
    session = kept(tmp_path)
    session.keep(point.slug, {})
    with pytest.raises(ExpectedError, match=point.slug):
        store.find(session, point)


def test_results_are_of_the_points_that_are_done(tmp_path: Path) -> None:
    first, second, *_ = experiment().points()
    session = kept(tmp_path)
    session.keep(second.slug, result(second).json())
    assert store.results(session, [first, second]) == {second.slug: result(second)}


def test_why_cells_were_left_out_is_kept(tmp_path: Path) -> None:
    session = kept(tmp_path)
    assert store.left_out(session) == {}
    store.save_left_out(session, {"a": "no room"})
    assert store.left_out(session) == {"a": "no room"}
    (tmp_path / "left-out.json").write_text("{")
    with pytest.raises(ExpectedError, match=r"left-out\.json"):
        store.left_out(session)


def test_a_file_is_not_written_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    write_changed(file, "text")
    os.utime(file, (1, 1))
    write_changed(file, "text")
    assert file.stat().st_mtime == 1
    write_changed(file, "other")
    assert file.read_text() == "other"
