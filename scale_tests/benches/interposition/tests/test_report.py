"""The ratios of pairs, and the targets of their medians."""

from datetime import UTC, datetime
from typing import Any

from scale_tests.benches.interposition import report
from scale_tests.benches.interposition.cli import BENCH
from scale_tests.measure.document import RESULTS, document
from scale_tests.measure.page import markdown

Cell = dict[str, Any]


def run(pair: int, system: str, *, ns: float, messages: float, rule: float = 0.0) -> list[Cell]:
    common = {"pair": pair, "system": system, "otp": "27"}
    cells: list[Cell] = [
        common | {"metric": "dispatch", "ns_at_least": ns * disturbed} for disturbed in (1.5, 1.0)
    ]
    cells += [
        common
        | {"metric": "throughput", "msgs_per_s": messages * rate, "cpu_us_per_message": 5.0 / rate}
        for rate in (0.5, 1.0, 4.0)
    ]
    if rule:
        cells.append(common | {"metric": "dispatch with one rule", "ns_at_least": rule})
    return cells


PAIRS = [
    *run(1, "base", ns=1000, messages=200_000),
    *run(1, "present", ns=1010, messages=200_000, rule=1200),
    *run(2, "present", ns=990, messages=198_000, rule=1100),
    *run(2, "base", ns=1000, messages=200_000),
    *run(3, "base", ns=1000, messages=200_000),
    *run(3, "present", ns=1500, messages=100_000, rule=2000),
]


def test_a_send_is_that_of_the_least_disturbed_repetition() -> None:
    assert report.value(PAIRS, "dispatch", "base", 1) == 1000
    assert report.ratios(PAIRS, "dispatch") == [1.01, 0.99, 1.5]


def test_a_rate_is_that_of_the_median_repetition() -> None:
    assert report.value(PAIRS, "throughput", "present", 2) == 198_000
    assert report.value(PAIRS, report.CPU, "present", 2) == 5.0
    assert report.ratios(PAIRS, "throughput") == [1.0, 0.99, 0.5]


def test_a_send_with_a_rule_is_compared_with_one_of_the_base() -> None:
    assert report.ratios(PAIRS, "dispatch with one rule") == [1.2, 1.1, 2.0]


def test_targets_are_of_the_medians() -> None:
    checks = report.checks(PAIRS)
    assert [check.value for check in checks] == [1.01, 0.99, 1.2]
    assert [check.ok for check in checks] == [True, True, True]
    slower = [*PAIRS, *run(4, "base", ns=1000, messages=200_000)]
    slower += run(4, "present", ns=1100, messages=100_000, rule=2000)
    slower += run(5, "present", ns=1100, messages=100_000, rule=2000)
    slower += run(5, "base", ns=1000, messages=200_000)
    assert [check.ok for check in report.checks(slower)] == [False, False, False]


def test_nothing_measured_is_neither_met_nor_missed() -> None:
    assert [check.ok for check in report.checks([])] == [None, None, None]


def test_the_page_has_a_row_for_each_pair() -> None:
    meta = document(
        "interposition",
        started=datetime(2026, 1, 1, tzinfo=UTC),
        versions={},
        cells=PAIRS,
        checks=[],
        quick=False,
        config={"base": "0123456789ab", "pairs": 3, "repetitions": 2},
    )["meta"]
    text = markdown(BENCH.plain_page(meta, PAIRS, []), RESULTS)
    assert "`0123456789ab`" in text
    assert "| 2 | 1,000 | 990 | 0.990 | 1,100 | 1.100 | 200,000 | 198,000 | 0.990 | 1.000 |" in text
