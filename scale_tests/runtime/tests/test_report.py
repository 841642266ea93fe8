"""Which figures hold, and what is drawn and written of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scale_tests.results.page import markdown
from scale_tests.runtime import page, pictures, report
from scale_tests.runtime.plan import KB, MB

Cell = dict[str, Any]


def cell(system: str, mb_per_s: float, **changed: Any) -> Cell:
    return {
        "experiment": "throughput",
        "system": system,
        "flags": "release" if system == "ours" else "stock",
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


def ping(system: str, idle: float, loaded: float) -> Cell:
    return {
        "experiment": "ping",
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


def reply(way: str, words: int, rate: float) -> Cell:
    settings = {"state_words": words, "callers": 16, "cost_us": 0}
    return {"experiment": "reply", "way": way, "requests_per_s": rate, **settings}


ALL = [
    cell("ours", 950),
    cell("raw", 1000),
    cell("disterl", 100),
    ping("ours", 20, 39),
    ping("disterl", 20, 400),
    send(16, 1000),
    send(16384, 1400),
    send(16384, 3000, 16384),
    reply("inline", 0, 10),
    reply("spawn_state", 0, 5),
]


def held(cells: list[Cell]) -> list[bool | None]:
    return [bar.ok for bar in report.bars(cells)]


def test_all_bars_of_a_good_run() -> None:
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
    (bar,) = report.bars(runs)
    assert (bar.value, bar.ok) == ("0.9 (0.5 to 0.95)", True)


def test_small_messages_are_held_to_distributed_erlang() -> None:
    small = [cell("ours", 99, payload=KB), cell("disterl", 100, payload=KB)]
    assert held(small) == [False]


def test_only_the_most_pairs_and_the_pinned_congestion_control_are_held() -> None:
    few = [cell("ours", 1, pairs=1), cell("raw", 100, pairs=1)]
    other = [cell("ours", 1, congestion="bbr"), cell("raw", 100, congestion="bbr")]
    assert held([*ALL, *few, *other]) == [True, True, True, True]


def test_stock_flags_are_told_apart() -> None:
    cells = [cell("ours", 100), cell("ours", 200, flags="stock")]
    assert report.flag_rows(cells) == [["20 ms", "512 KB", "0.5 (0.5 to 0.5)"]]


def test_a_ping_must_not_wait_for_bulk() -> None:
    assert held([ping("ours", 1, 2.1), ping("disterl", 1, 100)]) == [False]


def test_a_send_may_not_cost_more_where_there_are_more_connections() -> None:
    assert held([send(16, 100), send(16384, 151)]) == [False]


@pytest.mark.parametrize(
    ("pss", "cpu", "ok"), [(16.0, 1.0, [True, True]), (16.1, 1.1, [False] * 2)]
)
def test_a_node_is_small(pss: float, cpu: float, ok: list[bool]) -> None:
    node = {"processes": 32, "pss_mib": pss, "cpu_seconds_to_joined": cpu}
    assert [bar.ok for bar in report.footprint_bars([node])] == ok


def test_the_pictures_and_the_page(tmp_path: Path) -> None:
    files = pictures.draw(ALL, tmp_path)
    assert [file.stem for file in files if file.suffix == ".svg"] == [
        "microbenchmarks",
        "throughput",
        "head-of-line",
        "dispatch",
        "replies",
    ]
    meta = {
        "started": "2026-01-01T00:00:00",
        "seconds": 1,
        "quick": True,
        "config": {"repetitions": 1},
        "versions": {"otp": "25", "source": "0" * 7},
        "machine": {"cpus": 2, "cpu_model": "", "kernel": ""},
    }
    text = markdown(page.page(meta, ALL, [], report.bars(ALL)), tmp_path)
    assert "| 20 ms | 512 KB | 128 | 16 | 950 / 1000 / 100 | 0.95 (0.95 to 0.95) |" in text
    assert "full" not in text.splitlines()[2]


def test_sizes_in_words() -> None:
    assert (report.size(8 * MB), report.size(512 * KB)) == ("8 MB", "512 KB")
