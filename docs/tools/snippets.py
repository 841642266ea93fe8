"""The snippets of the documents: fenced blocks, and commands and names in the prose."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from scale_tests.host.commands import ROOT

PAGES = sorted(
    path.relative_to(ROOT)
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("operator/*.md"),
        *ROOT.glob("charts/*/*.md"),
    )
    if not path.is_relative_to(ROOT / "docs/results") and path.name != "CHANGELOG.md"
)
"""Pages whose snippets must be right today: neither records of measurements nor history."""


@dataclass(frozen=True)
class Snippet:
    """A fenced block, or code in the prose."""

    page: Path
    """From the root of the repository."""

    line: int
    """Of the block, from 1."""

    language: str
    """Such as `sh`; empty for code in the prose."""

    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def tokens(page: Path) -> tuple[Token, ...]:
    """The tokens of a page."""
    return tuple(MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text()))


def blocks(page: Path, *languages: str) -> Iterator[Snippet]:
    """The fenced blocks of a page in these languages."""
    for token in tokens(page):
        language = token.info.partition(" ")[0]
        if token.type == "fence" and language in languages:
            yield Snippet(page, _line(token), language, token.content)


def code(page: Path) -> Iterator[Snippet]:
    """The code in the prose of a page, tables and headings included."""
    for token in tokens(page):
        for child in token.children or ():
            if child.type == "code_inline":
                yield Snippet(page, _line(token), "", child.content)


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0
