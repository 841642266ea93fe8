"""Ratios, crossovers, checks, pictures and the page of the ways to answer."""

from math import inf
from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.reply import figures, pictures, plan, report
from scale_tests.benches.reply.cli import BENCH
from scale_tests.measure.drawing import draw
from scale_tests.measure.page import markdown

Cell = dict[str, Any]


def measured(cell: Cell) -> Cell:
    """A cell of a machine with two processors, by a simple model."""
    copied = {"spawn_state": 300 + cell["state_words"], "spawn_minimal": 300}.get(cell["way"], 0)
    overhead = 2 + (2 + copied / 500 if copied else 0)
    together = 1 if cell["way"] == "inline" else cell["callers"]
    waited = cell["cost_us"] if cell["work"] == "wait" else 0
    cpu = overhead + cell["cost_us"] - waited
    return {
        **cell,
        "requests": 1000,
        "requests_per_s": 1e6 * min(together / (cpu + waited), min(2, together) / cpu),
        "cpu_us": cpu,
        "closure_words": copied,
        "others_cpus": 0.1,
        "iterations_per_us": 100.0,
        "schedulers": 2,
        "otp": "27",
    }


CELLS = [measured(cell) for cell in plan.cells(plan.plan(quick=True))]


def test_targets_are_met_where_copies_cost_and_processors_are_two() -> None:
    assert [check.ok for check in report.checks(CELLS)] == [True] * 4


def test_targets_are_missed_where_spawning_is_free() -> None:
    free = [{**cell, "cpu_us": 1.0, "requests_per_s": 1e6} for cell in CELLS]
    assert [check.ok for check in report.checks(free)] == [True, False, True, False]


def test_a_crossover_on_a_busy_machine_is_neither_met_nor_missed() -> None:
    busy = [cell | {"others_cpus": 1.5} for cell in CELLS]
    assert [check.ok for check in report.checks(busy)] == [True, True, None, True]


def test_nothing_measured_is_not_checked() -> None:
    assert report.checks([]) == []


@pytest.mark.parametrize(
    ("ratios", "found"),
    [
        ([(0, 0.5), (10, 1.5), (100, 2.0)], 5.0),
        ([(0, 1.1), (10, 0.5), (100, 1.5)], 55.0),
        ([(0, 1.0), (10, 2.0)], 0.0),
        ([(0, 0.5), (10, 0.9)], inf),
    ],
)
def test_the_crossover_is_where_the_ratio_stays_at_least_one(
    ratios: list[tuple[float, float]], found: float
) -> None:
    assert figures.crossover(ratios) == found


def test_the_crossover_of_two_processors() -> None:
    found = figures.crossover_us(figures.runs(CELLS), 16, figures.MINIMAL)
    assert found is not None
    assert 0 < found.median < 10
    assert figures.crossover_us(figures.runs(CELLS), 17, figures.MINIMAL) is None


def test_disturbed_repetitions_count_only_where_there_are_no_others() -> None:
    way = {"sweep": "busy", "ring": "strings", "work": "busy", "cost_us": 1, "callers": 16}
    cells = [
        {**way, "way": name, "state_words": 0, "hashes": 1, "repetition": repetition}
        | {"requests_per_s": rate, "others_cpus": others}
        for name, rates in (("inline", (100.0, 100.0)), ("pool", (200.0, 30.0)))
        for repetition, (rate, others) in enumerate(zip(rates, (0.1, 1.5), strict=True))
    ]
    pool = figures.Way(way="pool")
    (ways,) = figures.runs(cells).values()
    assert figures.over(ways, pool) == [2.0]
    (ways,) = figures.runs(cell | {"others_cpus": 1.0} for cell in cells).values()
    assert figures.over(ways, pool) == [2.0, 0.3]


def test_words_at_a_ratio() -> None:
    curve = [(100.0, 2.0), (10_000.0, 8.0)]
    assert figures.words_at(curve, 4.0) == pytest.approx(1000.0)
    assert figures.words_at(curve, 9.0) is None


def test_the_pictures_and_the_page(tmp_path: Path) -> None:
    drawn = draw(pictures.PICTURES, CELLS, tmp_path)
    assert [picture.file.stem for picture in drawn] == ["published", "crossover"]
    meta = {
        "started": "2026-01-01T00:00:00",
        "seconds": 1,
        "quick": True,
        "config": {"repetitions": 3, "milliseconds": 50},
        "versions": {"otp": "27", "source": "0" * 7},
        "machine": {"cpus": 2, "cpu_model": "", "kernel": "", "memory_bytes": 0},
    }
    text = markdown(BENCH.plain_page(meta, CELLS, drawn), tmp_path)
    assert "85,000 requests a second inline and 12,000 spawned, 7.08 times" in text
    assert "7.08 is reached at" in text
    assert "| strings | spawned, state of 1,000, two hashes | 1,300 |" in text
    assert "full" not in text.splitlines()[2]
