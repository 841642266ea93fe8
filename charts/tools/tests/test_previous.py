"""The chart that users upgrade from."""

import pytest

from charts.tools import previous
from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT, ExpectedError


def test_the_chart_follows_the_previous_version() -> None:
    previous.check_version()


def test_a_release_without_a_new_version_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previous, "unpacked", lambda: CHART)
    with pytest.raises(ExpectedError, match="has version"):
        previous.check_version()


def test_without_a_revision_the_command_prints_its_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments in ([], ["--help"], ["a", "b"]):
        assert previous.main(arguments) == 1
        assert "a git revision is wanted" in capsys.readouterr().err


def test_the_same_files_are_the_same_archive() -> None:
    assert previous.pack(ROOT / previous.unpacked()) == previous.ARCHIVE.read_bytes()
