"""Generated parts of documents."""

import pytest

from scale_tests.host.documents import with_part

TEXT = "before\n<!-- values: by hand -->\nold\n<!-- end of values -->\nafter\n"


def test_a_part_replaces_only_the_text_between_its_marks() -> None:
    once = with_part(TEXT, "values", "new \\1")
    assert once == TEXT.replace("old", "new \\1")
    assert with_part(once, "values", "new \\1") == once


def test_missing_marks_are_reported() -> None:
    with pytest.raises(ValueError, match="marks of alerts"):
        with_part(TEXT, "alerts", "new")
