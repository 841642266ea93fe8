"""From cells to targets."""

from typing import Any

from scale_tests.benches.console import report


def cell(metric: str, value: float, *, view: str = "", viewers: int = 1) -> dict[str, Any]:
    return {"metric": metric, "value": value, "view": view, "viewers": viewers}


def test_nothing_is_claimed_of_what_was_not_measured() -> None:
    assert {check.ok for check in report.checks([])} == {None}


def test_a_target_is_missed_by_what_exceeds_it() -> None:
    cells = [cell("update_ms", ms, view="overlay") for ms in (10.0, 12.0, 90.0)]
    cells += [
        cell("drawn_seconds", 1.5, view="overlay"),
        cell("operator_cpu_percent", 9, viewers=10),
    ]
    verdicts = {check.name: check.ok for check in report.checks(cells) if check.ok is not None}
    assert verdicts == {
        "seconds until all nodes are drawn, median": True,
        "ms of main thread for a change in overlay, 95 %": False,
        "percent of a CPU for ten viewers": False,
    }


def test_memory_that_rises_to_a_level_and_stays_is_flat() -> None:
    flat = [cell("heap_mib", value, view="overlay") for value in [10, 20, *[30.0] * 6]]
    rising = [cell("heap_mib", value, view="overlay") for value in range(10, 18)]
    assert report.growth(flat) == 1.0
    assert report.growth(rising) == 1.32


def test_the_tables_have_a_row_for_each_view_and_number_of_viewers() -> None:
    cells = [cell("operator_cpu_percent", 1, viewers=count) for count in (0, 10)]
    views, operator = report.tables(cells).values()
    assert [row[0] for row in views.rows] == list(report.VIEWS)
    assert [row[0] for row in operator.rows] == ["0", "10"]
