"""Writing and reading OCI archives."""

import hashlib
import json
import tarfile
from pathlib import Path

import pytest

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import ociarchive

NAME = "localhost/partisan/pause:1"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    program = tmp_path / "pause"
    program.write_bytes(b"\x7fELF pretended")
    path = tmp_path / "pause.tar"
    ociarchive.write_single_binary_image(path, NAME, program)
    return path


def test_a_written_image_is_read_back_by_its_name(archive: Path) -> None:
    ((name, digest),) = ociarchive.images(archive).items()
    assert name == NAME
    assert digest.startswith("sha256:")


def test_every_blob_is_stored_under_its_digest(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            if member.name.startswith("blobs/sha256/"):
                content = tar.extractfile(member)
                assert content is not None
                assert hashlib.sha256(content.read()).hexdigest() == Path(member.name).name


def test_the_image_runs_the_program_as_an_ordinary_user(archive: Path) -> None:
    (digest,) = ociarchive.images(archive).values()
    with tarfile.open(archive) as tar:

        def blob(of: str) -> dict[str, dict[str, str]]:
            content = tar.extractfile("blobs/sha256/" + of.removeprefix("sha256:"))
            assert content is not None
            return dict(json.load(content))

        config = blob(blob(digest)["config"]["digest"])["config"]
    assert config == {"Entrypoint": ["/pause"], "User": "65535:65535"}


def test_the_same_program_makes_the_same_image(archive: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar"
    ociarchive.write_single_binary_image(again, NAME, tmp_path / "pause")
    assert again.read_bytes() == archive.read_bytes()


@pytest.mark.parametrize("content", [b"", b"no tar"])
def test_another_file_is_named_in_the_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.tar"
    path.write_bytes(content)
    with pytest.raises(ExpectedError, match=r"other\.tar is no OCI archive"):
        ociarchive.images(path)
