"""Files that are written in one step."""

from __future__ import annotations

from pathlib import Path

from scale_tests.host import files


def test_a_file_is_replaced_with_its_mode_and_leaves_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("before")
    files.replace(file, "after", mode=0o600)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("after", 0o600)
    assert list(tmp_path.iterdir()) == [file]
