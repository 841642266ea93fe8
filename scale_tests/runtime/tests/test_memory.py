"""Memory that is touched before anything is measured."""

from __future__ import annotations

from scale_tests.runtime import memory


def test_whole_blocks_are_touched() -> None:
    assert memory.settle(300 * 1024 * 1024) == 256 * 1024 * 1024


def test_what_is_available_is_read_from_meminfo() -> None:
    text = "MemTotal:       24000000 kB\nMemAvailable:    1000 kB\nHugePages_Total:       0\n"
    assert memory.available(text) == 1_024_000
