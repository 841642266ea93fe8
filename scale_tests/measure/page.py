"""A page of results, written as Markdown and as HTML that needs nothing beside itself."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scale_tests.host.units import GIB
from scale_tests.measure.checks import Check

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.85rem; display: block;
  overflow-x: auto; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption, caption { font-size: 0.85rem; color: #555; text-align: left; caption-side: top; }
"""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its head, its rows; what it shows and how that came about, where no text says."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """An SVG, and what it shows. A page that is Markdown alone may link a PNG instead."""

    title: str
    file: Path
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Link:
    """Another page, by its file."""

    title: str
    file: Path


Part = Table | Picture | Link


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a page, under a heading if it has a title; `text` is in paragraphs."""

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


def targets_section(checks: Sequence[Check], caption: str = "") -> Section:
    """The section with the targets."""
    return Section(title="Targets", parts=[bars_table(checks, caption)])


def circumstances(meta: Mapping[str, Any], *, quick: str = "fewer and smaller runs") -> str:
    """How much was run, on what machine and with which versions, from a document's `meta`."""
    extent = f"`QUICK=1`: {quick}" if meta["quick"] else "full"
    return f"{extent}; {hardware(meta['machine'])}; {listed(meta['versions'])}."


def run_title(command: str, meta: Mapping[str, Any]) -> str:
    """The title of a page: what was run, and when."""
    return f"`{command}`, {meta['started'][:16]} UTC"


def hardware(machine: Mapping[str, Any]) -> str:
    """A machine, as `document.machine` describes it, in words."""
    return (
        f"{machine['cpus']} CPUs ({machine['cpu_model']}), "
        f"{machine['memory_bytes'] / GIB:.0f} GiB of memory, kernel {machine['kernel']}"
    )


def listed(versions: Mapping[str, str]) -> str:
    """What took part, each with its version."""
    return ", ".join(f"{part} {version}" for part, version in versions.items())


def markdown(page: Page, directory: Path) -> str:
    """The page in Markdown, for a file in `directory`, to which pictures are linked."""
    lines = [f"# {page.title}"]
    for section in page.sections:
        if section.title:
            lines += ["", f"## {section.title}"]
        for paragraph in section.text:
            lines += ["", paragraph]
        for part in section.parts:
            lines += ["", *_marked_down(part, directory)]
    return "\n".join([*lines, ""])


def hypertext(page: Page, directory: Path) -> str:
    """The page in HTML for a file in `directory`, with its pictures in it."""
    body = [f"<h1>{_text(page.title)}</h1>"]
    for section in page.sections:
        if section.title:
            body.append(f"<h2>{_text(section.title)}</h2>")
        body += [f"<p>{_text(paragraph)}</p>" for paragraph in section.text]
        body += [_marked_up(part, directory) for part in section.parts]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f"<title>{html.escape(page.title)}</title><style>{STYLE}</style></head><body>",
            *body,
            "</body></html>",
            "",
        ]
    )


def write(page: Page, directory: Path) -> list[Path]:
    """Writes both forms into `directory`, which has the page's pictures; returns the files."""
    readme, report = directory / "README.md", directory / "report.html"
    readme.write_text(markdown(page, directory))
    report.write_text(hypertext(page, directory))
    return [readme, report]


def _marked_down(part: Part, directory: Path) -> list[str]:
    if isinstance(part, Link):
        return [f"[{part.title}]({_way(part, directory)})"]
    if isinstance(part, Picture):
        caption = ["", part.caption] if part.caption else []
        return [f"![{part.title}]({part.file.relative_to(directory)})", *caption]
    caption = [part.caption, ""] if part.caption else []
    rule = _row(["---"] * len(part.head))
    return [*caption, _row(part.head), rule, *map(_row, part.rows)]


def _marked_up(part: Part, directory: Path) -> str:
    if isinstance(part, Link):
        target = html.escape(_way(part, directory))
        return f'<p><a href="{target}">{_text(part.title)}</a></p>'
    return _figure(part) if isinstance(part, Picture) else _table(part)


def _way(link: Link, directory: Path) -> str:
    """The way to a page from one in `directory`, as an address."""
    return Path(os.path.relpath(link.file, directory)).as_posix()


def _row(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def _text(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in table.head)
    rows = (
        "<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row) + "</tr>"
        for row in table.rows
    )
    return "\n".join(
        [
            f"<table>{_element('caption', table.caption)}",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *rows,
            "</tbody></table>",
        ]
    )


def _figure(picture: Picture) -> str:
    svg = picture.file.read_text()
    # What stands before the element belongs to a file of its own.
    drawing = svg[svg.index("<svg") :]
    return f"<figure>{drawing}{_element('figcaption', picture.caption)}</figure>"


def _element(name: str, text: str) -> str:
    return f"<{name}>{_text(text)}</{name}>" if text else ""
