"""The commands, manifests, and names of fields and values on the pages are right.

Tests with a cluster run the commands of docs/tutorials/first-cluster.md and docs/guides/install.md,
those for a cluster of docs/tutorials/elixir-app.md, and those of docs/guides/backup.md; EUnit the
blocks in Erlang.
"""

import json
import re
from collections.abc import Iterator

import pytest

from docs.tools import commands, manifests, shell
from docs.tools.snippets import PAGES, Snippet, blocks, code
from scale_tests.host.commands import ROOT, capture


def of(*languages: str) -> list[Snippet]:
    """The blocks of these languages on all pages."""
    return [snippet for page in PAGES for snippet in blocks(page, *languages)]


def checked(scripts: Iterator[tuple[Snippet, str]]) -> list[str]:
    """The problems of all commands of scripts, each with its place."""
    return [
        f"{snippet}: {problem}"
        for snippet, script in scripts
        for command in shell.commands(script)
        for problem in commands.problems(command)
    ]


def test_commands_are_right() -> None:
    blocks = of("sh", "console")
    scripts = ((b, b.text if b.language == "sh" else shell.typed(b.text)) for b in blocks)
    # The chart's page shows arguments alone, to be added to the command above them.
    assert checked((b, text) for b, text in scripts if not text.startswith("--set")) == []


def test_commands_in_the_prose_are_right() -> None:
    pattern = re.compile(r"(make|helm|kubectl) [a-z]|\.venv/bin/python -m")
    inline = (s for page in PAGES for s in code(page) if pattern.match(s.text))
    found = checked((s, s.text) for s in inline if "COMMAND" not in s.text)
    # Prose names a command without its arguments.
    assert [problem for problem in found if "arguments are required" not in problem] == []


@pytest.mark.parametrize("snippet", of("yaml"), ids=str)
def test_manifests_fit_the_schema(snippet: Snippet) -> None:
    assert list(manifests.yaml_problems(snippet.text)) == []


@pytest.mark.parametrize("snippet", of("json"), ids=str)
def test_json_is_valid(snippet: Snippet) -> None:
    json.loads(snippet.text)


@pytest.mark.parametrize("snippet", of("python"), ids=str)
def test_python_compiles(snippet: Snippet) -> None:
    compile(snippet.text, str(snippet), "exec")


def test_fields_in_the_prose_exist() -> None:
    named = re.compile(r"(?:spec|status)(?:\.[a-z]\w*(?:\[\])?)+")
    assert [
        f"{snippet}: {snippet.text}"
        for page in PAGES
        for snippet in code(page)
        if named.fullmatch(snippet.text) and manifests.schema_at(snippet.text) is None
    ] == []


def test_erlang_of_users_pages_is_run_by_a_test_of_erlang() -> None:
    tests = capture(["git", "grep", "-h", "-E", "[.]md", "--", "erlang_node/apps/*/test/*"])
    pages = [page for page in PAGES if page.parts[1:2] in (("tutorials",), ("guides",))]
    pages = [page for page in pages if next(blocks(page, "erlang"), None)]
    assert len(pages) >= 3
    assert [str(page) for page in pages if page.name not in tests] == []


def test_functions_of_elixir_exist() -> None:
    defined = (ROOT / "examples/elixir/lib/partisan.ex").read_text()
    called = {name for s in of("elixir") for name in re.findall(r"\bPartisan\.(\w+)", s.text)}
    assert called
    assert [name for name in called if f"def {name}(" not in defined] == []


def test_functions_that_elixir_calls_exist() -> None:
    defined = (ROOT / "examples/elixir/lib/partisan.ex").read_text()
    exported = {
        (path.stem, name, int(arity))
        for path in (ROOT / "erlang_node/apps/partisan/src").glob("**/*.erl")
        for name, arity in re.findall(r"^-export\(\[(\w+)/(\d+)\]\)", path.read_text(), re.M)
    }
    # Brackets within brackets are those of an argument: `:partisan.cast(a, b, Map.new(c))`.
    calls = re.findall(r":(partisan\w*)\.(\w+)\(((?:[^()]|\([^()]*\))*)\)", defined)
    called = {
        (module, name, len([a for a in re.sub(r"\([^()]*\)", "", given).split(",") if a.strip()]))
        for module, name, given in calls
    }
    assert {("partisan", "cast", 3), ("partisan_nodes", "monitor_nodes", 2)} <= called
    assert called - exported == set()
