"""Files that are written in one step, and files that are locks."""

import fcntl
from contextlib import nullcontext
from pathlib import Path

import pytest

from scale_tests.host import files


def test_a_file_is_replaced_with_its_mode_and_leaves_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("before")
    files.replace(file, "after", mode=0o600)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("after", 0o600)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("shared", [False, True])
def test_a_lock_is_shared_only_if_all_share_it(tmp_path: Path, shared: bool) -> None:
    file = tmp_path / "locks" / "lock"
    with files.locked(file, shared=shared), file.open() as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with nullcontext() if shared else pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    with file.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


class TestMade:
    """Directories that appear whole."""

    def test_directory_is_there_once_it_is_whole(self, tmp_path: Path) -> None:
        target = tmp_path / "cache" / "made"
        with files.made(target) as partial:
            (partial / "file").write_text("x")
            assert not target.exists()
        assert (target / "file").read_text() == "x"
        assert list(target.parent.iterdir()) == [target]

    def test_error_leaves_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="no"), files.made(tmp_path / "made"):
            raise ValueError("no")
        assert list(tmp_path.iterdir()) == []

    def test_directory_of_another_process_stays(self, tmp_path: Path) -> None:
        target = tmp_path / "made"
        with files.made(target):
            target.mkdir()
            (target / "other").touch()
        assert [file.name for file in target.iterdir()] == ["other"]
