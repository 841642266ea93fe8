"""Checks, pictures and tables of the runtime's figures."""

from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.runtime import pictures, report
from scale_tests.benches.runtime.cli import BENCH
from scale_tests.measure.drawing import draw
from scale_tests.measure.page import markdown
from scale_tests.measure.spread import KB, MB, payload

Cell = dict[str, Any]


def cell(system: str, mb_per_s: float, **changed: Any) -> Cell:
    return {
        "experiment": "throughput",
        "system": system,
        "flags": "release",
        "attempt": 0,
        "congestion": "reno",
        "rtt_ms": 20,
        "payload": 512 * KB,
        "pairs": 128,
        "lanes": 16 if system != "disterl" else 1,
        "affinity": True,
        "repetition": 0,
        "mb_per_s": mb_per_s,
        "p50_ms": 1.0,
        "p99_ms": 2.0,
        "cpu_us_per_message": 5.0,
        "memory_mb": 100.0,
        **changed,
    }


def ping(system: str, idle: float, loaded: float, attempt: int = 0) -> Cell:
    return {
        "experiment": "ping",
        "attempt": attempt,
        "system": system,
        "rtt_ms": 20,
        "idle": {"p99_ms": idle},
        "loaded": {"p99_ms": loaded},
        "bulk_mb_per_s": 100.0,
    }


def send(connections: int, nanoseconds: float, destinations: int = 16) -> Cell:
    return {
        "experiment": "dispatch",
        "connections": connections,
        "destinations": destinations,
        "ns_per_send": nanoseconds,
    }


ALL = [
    cell("ours", 950),
    cell("raw", 1000),
    cell("disterl", 100),
    ping("ours", 20, 39),
    ping("raw", 20, 40),
    ping("disterl", 20, 400),
    send(16, 1000),
    send(16384, 1400),
    send(16384, 3000, 16384),
]


def held(cells: list[Cell]) -> list[bool | None]:
    return [check.ok for check in report.checks(cells)]


def test_all_checks_of_a_good_run() -> None:
    assert held(ALL) == [True, True, True, True]


def test_a_large_message_must_move_nearly_as_on_raw_sockets() -> None:
    assert held([cell("ours", 900), cell("raw", 1000)]) == [True]
    assert held([cell("ours", 899), cell("raw", 1000)]) == [False]


def test_the_ratio_is_of_repetitions_and_its_median_counts() -> None:
    rates = [(900, 1000), (500, 1000), (950, 1000)]
    runs = [
        cell(system, rate, repetition=repetition)
        for repetition, (ours, raw) in enumerate(rates)
        for system, rate in (("ours", ours), ("raw", raw))
    ]
    (check,) = report.checks(runs)
    assert (check.value, check.ok) == ("0.9 (0.5 to 0.95)", True)


def test_small_messages_are_compared_with_distributed_erlang_alone() -> None:
    small = [cell("ours", 99, payload=KB), cell("disterl", 100, payload=KB)]
    assert held([*small, cell("raw", 1000, payload=KB)]) == [False]


@pytest.mark.parametrize(
    ("changed", "least"),
    [
        ({"payload": 64 * KB}, 1.0),
        ({"payload": 512 * KB}, 6.5),
        ({"payload": 8 * MB}, 6.5),
        ({"payload": 8 * MB, "lanes": 1}, 1.0),
        ({"payload": 8 * MB, "rtt_ms": 1}, 1.0),
        ({"payload": KB}, 1.0),
    ],
)
def test_many_lanes_pay_on_a_long_line(changed: Cell, least: float) -> None:
    other = {**changed, "lanes": 1}
    for rate, ok in ((100 * least, True), (100 * least - 1, False)):
        assert held([cell("ours", rate, **changed), cell("disterl", 100, **other)]) == [ok]


def test_a_near_miss_is_measured_again_and_the_second_measurement_counts() -> None:
    first = [cell("ours", 880), cell("raw", 1000)]
    (missed,) = report.near_misses(first)
    assert missed.point is not None
    assert (missed.point.payload, missed.point.lanes, missed.other) == (512 * KB, 16, "raw")
    both = [*first, cell("ours", 920, attempt=1), cell("raw", 1000, attempt=1)]
    (check,) = report.checks(both)
    assert (check.value, check.ok) == ("0.88 (0.88 to 0.88), again 0.92 (0.92 to 0.92)", True)
    assert report.near_misses(both) == []


def test_only_near_misses_are_measured_again() -> None:
    assert report.near_misses([cell("ours", 840), cell("raw", 1000)]) == []
    assert report.near_misses([cell("ours", 900), cell("raw", 1000)]) == []


def test_a_ping_that_is_nearly_as_fast_is_measured_again() -> None:
    (missed,) = report.near_misses([ping("ours", 1, 41), ping("raw", 1, 40)])
    assert missed.point is None


def test_only_the_most_pairs_and_the_pinned_congestion_control_are_held() -> None:
    few = [cell("ours", 1, pairs=1), cell("raw", 100, pairs=1)]
    other = [cell("ours", 1, congestion="bbr"), cell("raw", 100, congestion="bbr")]
    assert held([*ALL, *few, *other]) == [True, True, True, True]


def test_flags_are_compared_with_stock_ones() -> None:
    cells = [cell("ours", 100), cell("ours", 200, flags="stock")]
    assert report.flag_rows(cells) == [["20 ms", "512 KB", "0.5 (0.5 to 0.5)"]]


def test_a_ping_must_not_wait_longer_for_bulk_than_on_raw_sockets() -> None:
    assert held([ping("ours", 1, 40), ping("raw", 1, 40)]) == [True]
    assert held([ping("ours", 1, 41), ping("raw", 1, 40)]) == [False]


def test_a_send_may_not_cost_more_where_there_are_more_connections() -> None:
    assert held([send(16, 100), send(16384, 151)]) == [False]


@pytest.mark.parametrize(
    ("pss", "cpu", "ok"), [(16.0, 1.0, [True, True]), (16.1, 1.1, [False] * 2)]
)
def test_a_node_is_small(pss: float, cpu: float, ok: list[bool]) -> None:
    node = {"processes": 32, "pss_mib": pss, "cpu_seconds_to_joined": cpu}
    assert [check.ok for check in report.checks([node])] == ok


def test_the_pictures_and_the_page(tmp_path: Path) -> None:
    drawn = draw(pictures.PICTURES, ALL, tmp_path)
    assert [picture.file.stem for picture in drawn] == [
        "microbenchmarks",
        "throughput",
        "head-of-line",
        "dispatch",
    ]
    meta = {
        "started": "2026-01-01T00:00:00",
        "seconds": 1,
        "quick": True,
        "config": {"repetitions": 1},
        "versions": {"otp": "25", "source": "0" * 7},
        "machine": {"cpus": 2, "cpu_model": "", "kernel": "", "memory_bytes": 0},
    }
    text = markdown(BENCH.plain_page(meta, ALL, drawn), tmp_path)
    assert "| 20 ms | 512 KB | 128 | 16 | 950 / 1000 / 100 | 0.95 (0.95 to 0.95) |" in text
    assert "full" not in text.splitlines()[2]


def test_sizes_in_words() -> None:
    assert (payload(8 * MB), payload(512 * KB)) == ("8 MB", "512 KB")
