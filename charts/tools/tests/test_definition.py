"""The oldest Kubernetes that the chart allows."""

import pytest

from charts.tools import definition
from scale_tests.host.commands import ExpectedError


def test_the_crd_is_checked_with_the_release_that_the_chart_names() -> None:
    assert definition.oldest() == "1.30"


def test_another_release_in_the_chart_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definition, "module_version", lambda module, directory: "v0.31.0")
    with pytest.raises(ExpectedError, match=r"kubeVersion >=1\.30\.0-0"):
        definition.oldest()
