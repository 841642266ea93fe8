"""Tables that are described by data."""

import pytest

from scale_tests.measure.tables import forms, tabulated


def test_columns_are_formats_of_a_rows_members() -> None:
    table = tabulated(
        forms({"nodes": "{nodes:,}", "of both": "{a}, {b}"}), [{"nodes": 1024, "a": 1, "b": 2}]
    )
    assert (table.head, table.rows) == (["nodes", "of both"], [["1,024", "1, 2"]])


def test_a_member_that_a_row_lacks_has_its_own_text_or_that_of_all() -> None:
    columns = forms({"a": "{a:.1f}", "b": ["{b:.1f}", "never"]}, missing="")
    assert [text({}) for text in columns.values()] == ["", "never"]
    assert columns["b"]({"b": None}) == "never"
    with pytest.raises(KeyError):
        forms({"a": "{a}"})["a"]({})
