"""Memory that is touched before anything is measured."""

from scale_tests.benches.runtime.cli import touch


def test_whole_blocks_are_touched() -> None:
    assert touch(300 * 1024 * 1024) == 256 * 1024 * 1024
