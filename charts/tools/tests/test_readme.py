"""The tables of the chart's README."""

import pytest

from charts.tools import readme
from charts.tools.readme import README, generated, values_table
from charts.tools.tests.test_values import SCHEMA, VALUES
from charts.tools.values import described_values
from scale_tests.host.commands import ExpectedError


def test_a_value_is_described_by_its_default_and_comment() -> None:
    table = values_table(described_values(VALUES, SCHEMA))
    assert table.splitlines()[2:] == [
        "| `replicas` | `1` | How many. |",
        '| `image.repository` | `"r"` | Where from. |',
        '| `resources` | `{"limits": {}}` | Passed through. |',
    ]


def test_missing_marks_are_reported() -> None:
    with pytest.raises(ExpectedError, match=r"README\.md: the marks of values"):
        generated("no marks")


def test_a_value_without_a_comment_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def undescribed(*_: object) -> str:
        raise ExpectedError("values.yaml:7: no comment above a.b")

    monkeypatch.setattr(readme, "generated", undescribed)
    assert readme.main() == 1
    assert capsys.readouterr().err == "error: values.yaml:7: no comment above a.b\n"


def test_the_readme_of_the_chart_is_as_generated() -> None:
    assert README.read_text() == generated(README.read_text())
