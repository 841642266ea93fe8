"""The tables of the chart's README."""

from __future__ import annotations

import pytest

from charts.tools.readme import README, generated, values_table, with_table
from charts.tools.tests.test_values import SCHEMA, VALUES
from charts.tools.values import ChartError, described_values

TEXT = "before\n<!-- values: by hand -->\nold\n<!-- end of values -->\nafter\n"


def test_a_value_is_described_by_its_default_and_comment() -> None:
    table = values_table(described_values(VALUES, SCHEMA))
    assert table.splitlines()[2:] == [
        "| `replicas` | `1` | How many. |",
        '| `image.repository` | `"r"` | Where from. |',
        '| `resources` | `{"limits": {}}` | Passed through. |',
    ]


def test_a_table_replaces_only_the_text_between_its_marks() -> None:
    once = with_table(TEXT, "values", "new \\1")
    assert once == TEXT.replace("old", "new \\1")
    assert with_table(once, "values", "new \\1") == once


def test_missing_marks_are_reported() -> None:
    with pytest.raises(ChartError, match="marks of alerts"):
        with_table(TEXT, "alerts", "new")


def test_the_readme_of_the_chart_is_as_generated() -> None:
    assert README.read_text() == generated(README.read_text(), README.parent)
