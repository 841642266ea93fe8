"""Cells in, checks and tables out."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from scale_tests.benches.ring import pictures, plan, report
from scale_tests.measure import drawing

RATES = {"ours": 40.0, "disterl": 5.0, "raw": 44.0}


def measured(cell: plan.Cell, rate: float) -> dict[str, Any]:
    return asdict(cell) | {
        "ops_per_s": rate,
        "remote_per_s": rate * 0.6,
        "mb_per_s": 1.0,
        "p50_ms": 10.0,
        "p99_ms": None if rate == 0 else 20.0,
        "found": 0.03 if cell.service == "kvs" else None,
        "timeouts": 0,
        "cpu_s": 1.0,
        "operations": 1000,
        "violations": 0,
        "keys": 48,
        "not_linearizable": [],
        "day": "2026-11-27",
        "source": "0" if cell.service == "ack" else "1",
    }


CELLS = [measured(cell, RATES[cell.system]) for cell in plan.plan(quick=True)]


def test_targets_of_a_run_are_held_to_the_median_ratio() -> None:
    found = {check.name: check for check in report.checks(CELLS)}
    echo = found["echo, 20 ms, 8 MB, 256 KiB windows: over Distributed Erlang"]
    assert (echo.ok, echo.found, echo.bar) == (
        False,
        "8 (8 to 8); raw sockets 8.8 (8.8 to 8.8)",
        ">= 10",
    )
    assert found["echo, 20 ms, 512 KB, 256 KiB windows: over Distributed Erlang"].ok
    assert found["echo, 1 ms, 8 MB, default windows: of raw sockets"].ok
    assert sum("kvs" in name and "of raw" not in name for name in found) == 8
    assert found["the least ratio over Distributed Erlang with default windows"].ok


def test_a_history_that_is_not_linearizable_is_missed() -> None:
    good = next(cell for cell in CELLS if cell["service"] == "history")
    assert [check.ok for check in report.checks([good])] == [True]
    assert [check.ok for check in report.checks([good | {"not_linearizable": [7]}])] == [False]
    assert [check.ok for check in report.checks([good | {"violations": 1}])] == [False]


def test_a_system_that_completes_nothing_counts_as_half_an_operation() -> None:
    cell = next(c for c in plan.plan(quick=True) if c.service == "kvs")
    ours, none = measured(cell, 2.0), measured(replace(cell, system="disterl"), 0.0)
    ratio = report.ratio([ours], [none])
    assert ratio is not None
    assert ratio.median == 2.0 * 2 * cell.seconds


def test_every_service_has_a_table_with_what_was_published() -> None:
    tables = report.tables(CELLS)
    assert len(tables) == 3
    echo = tables["Echo on a ring of three nodes"]
    row = next(row for row in echo.rows if row[:4] == ["default", "1", "8 MB", "128"])
    assert row[4:8] == ["3.1", "8 (8 to 8)", "0.909 (0.909 to 0.909)", "40 / 5 / 44"]
    assert (echo.head[-1], row[-1]) == ("between nodes, operations/s", "24 / 3 / 26.4")
    assert all("\n" not in report.line(cell) for cell in CELLS)


def test_the_page_has_the_bytes_of_a_link_and_says_when_it_is_not_complete(tmp_path: Path) -> None:
    drawn = drawing.draw(pictures.PICTURES, CELLS, tmp_path)
    assert [picture.file.name for picture in drawn] == ["echo.svg", "kvs.svg", "ack.svg"]
    config = {"planned": 817}
    text = report.text({"complete": False, "config": config}, CELLS)
    assert f"Not complete: {len(CELLS)} of 817 cells are done" in text[0]
    assert text[1] == "Measured on 2026-11-27 (0), 2026-11-27 (1)."
    assert any("168 KB for each link" in paragraph for paragraph in text)
    assert "Not complete" not in "".join(report.text({"complete": True, "config": config}, CELLS))
