"""The chart that users upgrade from."""

from __future__ import annotations

import pytest

from scale_tests.chart import previous
from scale_tests.chart.values import ChartError
from scale_tests.harness.operator import CHART


def test_the_chart_comes_after_the_previous_one() -> None:
    previous.check_version()


def test_a_release_without_a_new_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previous, "PREVIOUS", CHART)
    with pytest.raises(ChartError, match="has version"):
        previous.check_version()


def test_without_a_revision_the_command_says_what_it_wants(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert previous.main([]) == 1
    assert "a git revision is wanted" in capsys.readouterr().err
