"""The inputs of images, and when they are rebuilt."""

import re
from argparse import ArgumentTypeError
from dataclasses import replace
from pathlib import Path

import pytest

from images.builder import bases, build
from images.builder.__main__ import image as image_of
from images.builder.catalogue import (
    ERLANG_NODE,
    EXAMPLES,
    IMAGES,
    OWN_WORKLOAD,
    Base,
    Image,
    own,
)
from scale_tests.host.commands import ROOT, ExpectedError


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Image:
    monkeypatch.setattr(bases, "_suite", lambda: "bookworm")
    source = tmp_path / "erlang_node" / "apps"
    source.mkdir(parents=True)
    (source / "node.erl").write_text("-module(node).\n")
    return ERLANG_NODE


def test_the_digest_changes_with_a_source_and_with_its_name(image: Image, tmp_path: Path) -> None:
    source = tmp_path / "erlang_node" / "apps" / "node.erl"
    before = build.inputs_digest(image, tmp_path)
    source.write_text("-module(node). % changed\n")
    changed = build.inputs_digest(image, tmp_path)
    source.rename(source.with_name("other.erl"))
    renamed = build.inputs_digest(image, tmp_path)
    assert len({before, changed, renamed}) == 3


def test_the_digest_ignores_what_is_not_copied(image: Image, tmp_path: Path) -> None:
    before = build.inputs_digest(image, tmp_path)
    for directory in ("_build", "node.egg-info"):
        (tmp_path / "erlang_node" / directory).mkdir()
        (tmp_path / "erlang_node" / directory / "node.beam").write_bytes(b"FOR1")
    assert build.inputs_digest(image, tmp_path) == before


def test_the_digest_ignores_links_to_nothing(image: Image, tmp_path: Path) -> None:
    before = build.inputs_digest(image, tmp_path)
    (tmp_path / "erlang_node" / ".#node.erl").symlink_to("user@host.1")
    assert build.inputs_digest(image, tmp_path) == before


def test_the_digest_changes_with_the_packages_of_a_base(image: Image, tmp_path: Path) -> None:
    assert isinstance(image.base, Base)
    other = replace(image, base=replace(image.base, packages=("erlang-base",)))
    assert build.inputs_digest(other, tmp_path) != build.inputs_digest(image, tmp_path)


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_a_dockerfile_has_its_bases_as_arguments_and_runs_unprivileged(image: Image) -> None:
    text = image.dockerfile.read_text()
    for argument in image.bases:
        assert re.search(rf"^ARG {argument}=\S+$", text, re.MULTILINE)
    assert "USER 65532:65532" in text
    assert re.search(r'^ENTRYPOINT \["/', text, re.MULTILINE)


@pytest.mark.parametrize("image", EXAMPLES, ids=lambda image: image.name)
def test_an_example_extends_an_image_of_the_catalogue(image: Image) -> None:
    text = image.dockerfile.read_text()
    assert re.search(r"^ARG NODE=\S+$", text, re.MULTILINE)
    assert text.rpartition("FROM ")[2].startswith("${NODE}\n")
    assert not re.search("^(USER|ENTRYPOINT)", text, re.MULTILINE)


def test_an_example_is_rebuilt_when_its_base_changes(image: Image, tmp_path: Path) -> None:
    (tmp_path / "examples" / "own-workload" / "src").mkdir(parents=True)
    before = build.inputs_digest(OWN_WORKLOAD, tmp_path)
    (tmp_path / image.sources[0] / "apps" / "node.erl").write_text("-module(node). % changed\n")
    assert build.inputs_digest(OWN_WORKLOAD, tmp_path) != before


def test_a_directory_anywhere_is_an_image_of_its_name(image: Image, tmp_path: Path) -> None:
    directory = tmp_path / "rumours"
    directory.mkdir()
    with pytest.raises(ValueError, match="no Dockerfile"):
        own(directory)
    (directory / "Dockerfile").write_text("ARG NODE\n")
    found = own(directory)
    assert (found.example, found.reference) == (str(directory), "localhost/partisan/rumours:dev")
    before = build.inputs_digest(found, tmp_path)
    (directory / "rumours.erl").write_text("-module(rumours).\n")
    assert build.inputs_digest(found, tmp_path) != before
    other = directory.rename(tmp_path / "My Rumours")
    with pytest.raises(ValueError, match="no name for an image"):
        own(other)
    taken = other.rename(tmp_path / "operator")
    with pytest.raises(ValueError, match="would replace the image operator: rename it"):
        own(taken)


@pytest.mark.parametrize("text", ["", "nonsense", "~no-such-user-here", "a" * 5000])
def test_what_is_no_image_is_an_error_of_use(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="and is none of erlang-node, operator"):
        image_of(text)


def test_no_mirror_is_named() -> None:
    for path in (ROOT / "images" / "builder").glob("*.py"):
        assert not re.search(r"https?://", path.read_text()), path


def test_a_suite_makes_another_base() -> None:
    base = Base(name="erlang", packages=("erlang-base",), suite="trixie")
    assert bases.fingerprint(base) != bases.fingerprint(replace(base, suite="sid"))


def test_other_releases_come_from_the_same_archive() -> None:
    targets = "s://a/security bookworm-security main\ns://a/debian bookworm main\n"
    assert bases.archive_of(targets, "bookworm") == "s://a/debian"
    with pytest.raises(ExpectedError, match="no source of Debian's release trixie"):
        bases.archive_of(targets, "trixie")
