"""Building programs once: a small Go module of our own, really compiled."""

from dataclasses import replace
from pathlib import Path

import pytest

from scale_tests.host.commands import ExpectedError, capture
from scale_tests.localkube.toolset import Toolset, default_name


@pytest.fixture
def toolset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolset:
    """A program that prints whether it was built with the tag `polite`, and an empty cache."""
    # The compiler's own cache stays where it is.
    monkeypatch.setenv("GOCACHE", capture(["go", "env", "GOCACHE"]).strip())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tools = tmp_path / "tools"
    (tools / "greet").mkdir(parents=True)
    (tools / "go.mod").write_text("module example.org/tools\n\ngo 1.26.0\n")
    (tools / "go.sum").write_text("")
    main = 'package main\n\nvar word = "what?"\n\nfunc main() { print(word) }\n'
    (tools / "greet" / "main.go").write_text(main)
    tagged = '//go:build polite\n\npackage main\n\nfunc init() { word = "hello" }\n'
    (tools / "greet" / "polite.go").write_text(tagged)
    return Toolset(name="v1", directory=tools, programs={"hello": "./greet"}, tags="polite")


def test_programs_are_built_once_under_their_names_with_their_tags(toolset: Toolset) -> None:
    built = toolset.ensure_built()
    assert [path.name for path in built.iterdir()] == ["hello"]
    assert capture(["sh", "-c", f"{built}/hello 2>&1"]) == "hello"
    before = (built / "hello").stat()
    assert toolset.ensure_built() == built
    assert (built / "hello").stat() == before


def test_the_directory_changes_with_whatever_goes_into_the_programs(toolset: Toolset) -> None:
    first = toolset.bin_directory
    assert first.name.startswith("v1-")
    assert replace(toolset, tags="").bin_directory != first
    source = toolset.directory / "greet" / "main.go"
    source.write_text(source.read_text() + "\n")
    assert toolset.bin_directory != first


def test_a_failed_build_leaves_only_the_message_of_the_compiler(toolset: Toolset) -> None:
    (toolset.directory / "greet" / "main.go").write_text("package main\n\nfunc main() { absent() }")
    with pytest.raises(ExpectedError, match="undefined: absent"):
        toolset.ensure_built()
    cache = toolset.bin_directory.parent
    assert [path.name for path in cache.iterdir() if path.is_dir()] == []


def test_without_go_the_remedy_is_named(toolset: Toolset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ExpectedError, match="install Go"):
        toolset.ensure_built()


def test_a_version_at_the_end_of_a_package_is_not_its_programs_name() -> None:
    assert default_name("go.etcd.io/etcd/server/v3") == "server"
    assert default_name("./coredns") == "coredns"
