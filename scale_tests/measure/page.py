"""A page of results, written as Markdown and as HTML in one file."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from scale_tests.host.units import GIB
from scale_tests.measure.checks import Check

STYLE = Path(__file__).with_suffix(".css").read_text()
_IMAGE = re.compile(r'<p><img src="([^"]+)"[^>]*></p>')


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its head, its rows, and a caption where no text explains it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """An SVG and its caption. A page that is Markdown alone may link a PNG instead."""

    title: str
    file: Path
    caption: str = ""


Part = Table | Picture


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a page, under a heading if it has a title; `text` is in paragraphs.

    One without text and parts is left out.
    """

    title: str = ""
    text: Sequence[str] = ()
    parts: Sequence[Part] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page. In its texts only `code` is marked."""

    title: str
    sections: Sequence[Section]


def bars_table(checks: Sequence[Check], caption: str = "") -> Table:
    """The targets of a measurement, a row for each."""
    return Table(
        head=("checked", "found", "target", ""),
        rows=[[check.name, check.found, check.bar, check.verdict] for check in checks],
        caption=caption,
    )


def circumstances(meta: Mapping[str, Any], *, quick: str = "fewer and smaller runs") -> str:
    """The size of a run, its machine and its versions, from a document's `meta`."""
    extent = f"`QUICK=1`: {quick}" if meta["quick"] else "full"
    return f"{extent}; {hardware(meta['machine'])}; {listed(meta['versions'])}."


def hardware(machine: Mapping[str, Any]) -> str:
    """A machine, as `document.machine` describes it, in words."""
    return (
        f"{machine['cpus']} CPUs ({machine['cpu_model']}), "
        f"{machine['memory_bytes'] / GIB:.0f} GiB of memory, kernel {machine['kernel']}"
    )


def listed(versions: Mapping[str, str]) -> str:
    """The parts of a run, each with its version."""
    return ", ".join(f"{part} {version}" for part, version in versions.items())


def markdown(page: Page, directory: Path) -> str:
    """The page in Markdown, for a file in `directory`, to which pictures are linked."""
    lines = [f"# {page.title}"]
    for section in page.sections:
        if section.title and (section.text or section.parts):
            lines += ["", f"## {section.title}"]
        for paragraph in section.text:
            lines += ["", paragraph]
        for part in section.parts:
            lines += ["", *_marked_down(part, directory)]
    return "\n".join([*lines, ""])


def hypertext(page: Page, directory: Path) -> str:
    """The page in HTML, which needs no other file: its pictures in `directory` are in it."""

    def drawn(image: re.Match[str]) -> str:
        svg = (directory / image[1]).read_text()
        # What stands before the element belongs to a file of its own.
        return f"<figure>{svg[svg.index('<svg') :]}</figure>"

    renderer = MarkdownIt("commonmark", {"html": False}).enable("table")
    body = renderer.render(markdown(page, directory))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(page.title)}</title><style>\n{STYLE}</style></head>\n"
        f"<body>\n{re.sub(_IMAGE, drawn, body)}</body></html>\n"
    )


def write(page: Page, directory: Path) -> list[Path]:
    """Writes both forms into `directory`, which has the page's pictures; returns the files."""
    readme, report = directory / "README.md", directory / "report.html"
    readme.write_text(markdown(page, directory))
    report.write_text(hypertext(page, directory))
    return [readme, report]


def _marked_down(part: Part, directory: Path) -> list[str]:
    if isinstance(part, Picture):
        caption = ["", part.caption] if part.caption else []
        return [f"![{part.title}]({part.file.relative_to(directory)})", *caption]
    caption = [part.caption, ""] if part.caption else []
    return [*caption, *markdown_table(part)]


def markdown_table(table: Table) -> list[str]:
    """The lines of a table, without its caption."""
    return [row(table.head), row(["---"] * len(table.head)), *map(row, table.rows)]


def row(values: Sequence[str]) -> str:
    """The line of a table's row."""
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"
