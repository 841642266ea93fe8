"""The page of versions that work together."""

import pytest

from docs.tools import compatibility
from docs.tools.compatibility import PAGE, page
from images.builder.catalogue import OTP_SUITES
from images.release.version import version


def test_the_page_is_as_generated() -> None:
    assert PAGE.read_text() == page(), "make compatibility"


def test_every_otp_that_tests_run_on_has_a_row() -> None:
    rows = [cells[1] for cells in compatibility.around() if cells[0] == "Erlang/OTP"]
    assert [cell.partition(",")[0] for cell in rows] == ["25", *OTP_SUITES]


def test_older_parts_meet_those_of_this_version() -> None:
    assert {cells[0].split()[-1] for cells in compatibility.older()} == {version()}


def test_a_source_without_its_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compatibility, "WIRE", "README.md")
    with pytest.raises(ValueError, match=r"README\.md has nothing like"):
        compatibility.wire()
