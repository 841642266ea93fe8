"""Links of the documents: each leads to a file, a directory or a heading that is there.

Also the length of the README and of the pages, and their list.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs.tools import words
from docs.tools.site_text import anchor
from docs.tools.snippets import tokens
from scale_tests.host.commands import ROOT, capture

_LISTED = capture(["git", "ls-files", "--cached", "--others", "--exclude-standard"])
FILES = [Path(name) for name in _LISTED.splitlines()]
"""Files of the repository, without built ones, from the root."""

THERE = {*FILES, *(directory for file in FILES for directory in file.parents)}
DOCUMENTS = [file for file in FILES if file.suffix == ".md"]
PAGES = {
    file
    for file in DOCUMENTS
    if file.is_relative_to("docs") and not file.is_relative_to("docs/results")
}
"""Pages that are written by hand, and those that tools write into the same tree."""

PATH = {"link_open": "href", "image": "src"}
"""The attribute with the target, by the kind of token."""

HTML = re.compile(r'\b(?:href|src|srcset)="([^"]+)"')
"""A target in a block of HTML."""


def targets(document: Path) -> Iterator[str]:
    """The targets of links and pictures, without other sites."""
    for block in tokens(document):
        inline = (t for t in block.children or () if t.type in PATH)
        found = [str(token.attrs[PATH[token.type]]) for token in inline]
        if block.type == "html_block":
            found += HTML.findall(block.content)
        yield from (unquote(target) for target in found if not urlsplit(target).scheme)


@cache
def anchors(document: Path) -> frozenset[str]:
    """The names that GitHub gives a document's headings."""
    parts = tokens(document)
    found: Counter[str] = Counter()
    names = set()
    for opening, inline in pairwise(parts):
        if opening.type == "heading_open":
            text = "".join(token.content for token in inline.children or ())
            name = anchor(text)
            names.add(f"{name}-{found[name]}" if found[name] else name)
            found[name] += 1
    return frozenset(names)


def leads_somewhere(document: Path, target: str) -> bool:
    """Whether the target of a document's link exists."""
    path, _, name = target.partition("#")
    resolved = (ROOT / document.parent / path).resolve() if path else ROOT / document
    if not resolved.is_relative_to(ROOT) or (file := resolved.relative_to(ROOT)) not in THERE:
        return False
    return not name or (file in DOCUMENTS and name in anchors(file))


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_every_link_and_picture_of_a_document_is_there(document: Path) -> None:
    assert [t for t in targets(document) if not leads_somewhere(document, t)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_every_row_is_in_a_table(document: Path) -> None:
    texts = (token.content for token in tokens(document) if token.type == "inline")
    assert [text for text in texts if text.startswith("| ")] == []


def test_headings_have_the_anchors_that_they_are_linked_by() -> None:
    assert "pod-operator---node" in anchors(Path("docs/contributing/interfaces.md"))


@pytest.mark.parametrize(
    "target", ["no.md", "#no", "../README.md#no", "../../../README.md", "pictures/no"]
)
def test_a_link_that_leads_nowhere_is_found(target: str) -> None:
    assert not leads_somewhere(Path("docs/evaluation/scale.md"), target)


def test_links_in_html_are_checked() -> None:
    assert "docs/pictures/architecture-dark.svg" in targets(Path("README.md"))


def test_every_page_is_in_the_list_of_pages() -> None:
    listed = {Path("docs") / target.partition("#")[0] for target in targets(Path("docs/README.md"))}
    assert PAGES - listed == {Path("docs/README.md")}


LIMITS = {"readme": 700, "pages": 25_000, "evaluation": 12_000}


@pytest.mark.parametrize("part", LIMITS)
def test_the_documents_are_short_enough_to_be_read(part: str) -> None:
    assert 0 < words.counted()[part] <= LIMITS[part]


DRAWN = sorted((ROOT / "docs/pictures").glob("*-light.svg"))


@pytest.mark.parametrize("light", DRAWN, ids=lambda light: light.stem)
def test_the_dark_variant_of_a_picture_is_the_light_one_in_other_colours(light: Path) -> None:
    dark = light.with_name(light.name.replace("-light.", "-dark."))
    shapes = [re.sub(r"#[0-9a-f]{6}\b", "", picture.read_text()) for picture in (light, dark)]
    assert shapes[0] == shapes[1]
    assert light.read_text() != dark.read_text()
