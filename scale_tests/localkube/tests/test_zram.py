"""Compressed swap, as the machine's own files show it, and as they do not."""

from pathlib import Path

import pytest

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import zram
from scale_tests.localkube.settings import Settings

SWAPS = """\
Filename				Type		Size		Used		Priority
/dev/sda2                               partition	8388604		0		-2
/dev/zram10                             partition	8388604		1024		100
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(run=tmp_path, zram_mib=64)


def test_a_device_differs_from_another_with_the_same_prefix() -> None:
    assert zram.is_swap(SWAPS, "/dev/zram10")
    assert not zram.is_swap(SWAPS, "/dev/zram1")


def test_removal_without_a_device_does_nothing(settings: Settings) -> None:
    zram.remove(settings)


def test_a_kernel_without_it_is_named(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zram, "CONTROL", tmp_path / "absent")
    with pytest.raises(ExpectedError, match="--zram-mib: this kernel has no zram"):
        zram.ensure(settings)


def test_an_impossible_size_names_the_option() -> None:
    with pytest.raises(ExpectedError, match="--zram-mib is -1"):
        Settings(zram_mib=-1)
