"""The protocol of a benchmark, from its command line to its exit status.

A benchmark measures and returns cells. The rest is the same for all: `QUICK=1`, the document
`build/results/NAME.json`, tables and checks on the terminal, a page with pictures, and status 1
when a check is missed.
"""

import argparse
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from scale_tests.host import files
from scale_tests.host.commands import ExpectedError, relative
from scale_tests.measure import checks, document, terminal
from scale_tests.measure import page as pages
from scale_tests.measure.checks import Check
from scale_tests.measure.page import Page, Picture, Section, Table
from scale_tests.measure.spread import Cell as Cell
from scale_tests.measure.tables import terminal_table

Meta = Mapping[str, Any]

Option = Callable[[argparse.ArgumentParser], object]
"""Adds to the command line of a benchmark."""


class Report(Protocol):
    """The reading of cells: usually a module."""

    def checks(self, cells: Sequence[Any], /) -> list[Check]:
        """The targets, with the values found."""
        return []

    def tables(self, cells: Sequence[Any], /) -> Mapping[str, Table]:
        """The figures by the titles of their tables, for terminal and page."""
        return {}


class NoReport(Report):
    """The report of a benchmark whose runs make one of their own: see `Session.reported`."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A benchmark. `main` is its command."""

    name: str
    """`python -m scale_tests NAME`."""

    about: str | None
    """The description on its command line."""

    measure: Callable[["Session"], int]
    """Measures, and returns the exit status, that of `Session.conclude`."""

    report: Report = field(default_factory=NoReport)
    document: str = ""
    """The name of the document and of the directory; `name` where it is empty."""

    options: Sequence[Option] = ()
    """Those that are its own."""

    draw: Callable[[Sequence[Any], Path], Sequence[Picture]] = lambda _cells, _directory: ()
    """Draws the cells into a directory; often `functools.partial(drawing.draw, PICTURES)`."""

    quick: str = "fewer and smaller runs"
    """The extent of a run with `QUICK=1`, on a plain page."""

    text: Callable[[Meta, Sequence[Any]], Sequence[str]] = lambda _meta, _cells: ()
    """Paragraphs of a plain page, from meta and cells, after that of the circumstances."""

    page: Callable[[Meta, Sequence[Any], Sequence[Picture]], Page] | None = None
    """The page, from meta, cells and pictures; None for a plain one."""

    expected: tuple[type[Exception], ...] = ()
    """Errors to end with next to `ExpectedError`."""

    interrupted: str = ": nothing was written."
    """The message on an interruption: the state it leaves."""

    @property
    def kept_as(self) -> str:
        """The name of the document and of the directory."""
        return self.document or self.name

    def plain_page(self, meta: Meta, cells: Sequence[Any], drawn: Sequence[Picture]) -> Page:
        """Circumstances, targets, pictures and tables."""
        text = [pages.circumstances(meta, quick=self.quick), *self.text(meta, cells)]
        tables = self.report.tables(cells)
        return Page(
            title=f"`python -m scale_tests {self.name}`, {meta['started'][:16]} UTC",
            sections=[
                Section(text=text),
                Section(title="Targets", parts=[pages.bars_table(self.report.checks(cells))]),
                Section(title="Pictures", parts=drawn),
                *(Section(title=title, parts=[table]) for title, table in tables.items()),
            ],
        )

    def parser(self) -> argparse.ArgumentParser:
        """The command line."""
        root = argparse.ArgumentParser(
            prog=f"python -m scale_tests {self.name}",
            description=self.about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        root.add_argument(
            "--out",
            type=_directory,
            default=document.RESULTS / self.kept_as,
            metavar="DIRECTORY",
            help="where the page, its pictures and the document go",
        )
        for add in self.options:
            add(root)
        return root

    def main(self, arguments: Sequence[str]) -> int:
        """Runs the benchmark; returns the exit status, 1 when a check is missed."""
        session = Session(bench=self, options=self.parser().parse_args(arguments))
        return terminal.run(
            lambda: self.measure(session), *self.expected, interrupted=self.interrupted
        )


@dataclass(frozen=True, kw_only=True)
class Session:
    """One run of a benchmark."""

    bench: Bench
    options: argparse.Namespace
    console: Console = field(default_factory=Console)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    quick: bool = field(default_factory=lambda: os.environ.get("QUICK") == "1")

    @property
    def directory(self) -> Path:
        """The directory of the page."""
        directory: Path = self.options.out
        return directory.resolve()

    def kept(self, slug: str) -> Cell | None:
        """The cell of this name, if a run that is resumed has kept it next to the page."""
        file = self.file(slug)
        return dict(json.loads(file.read_text())) if file.exists() else None

    def kept_like(self, pattern: str) -> list[Cell]:
        """The kept cells whose names match, as `Path.glob` does, in no order."""
        return [
            dict(json.loads(file.read_text()))
            for file in self.file(pattern).parent.glob(f"{pattern}.json")
        ]

    def published(self) -> list[Cell]:
        """The cells of the document next to the page, of a run of the same extent, to continue."""
        file = self.directory / f"{self.bench.kept_as}.json"
        if not file.exists():
            return []
        measured = json.loads(file.read_text())
        return list(measured["cells"]) if measured["meta"]["quick"] is self.quick else []

    def keep(self, slug: str, cell: Cell) -> Cell:
        """Keeps a cell, so that an interrupted run continues after it; returns it."""
        file = self.file(slug)
        file.parent.mkdir(parents=True, exist_ok=True)
        files.replace(file, json.dumps(cell, indent=1) + "\n")
        return cell

    def file(self, slug: str) -> Path:
        """Where the cell of this name is kept."""
        return self.directory / "cells" / f"{slug}.json"

    @property
    def seconds(self) -> int:
        """How long it has taken so far."""
        return round((datetime.now(UTC) - self.started).total_seconds())

    def say(self, text: str) -> None:
        """Prints a line of progress as it is."""
        self.console.print(text, markup=False, highlight=False)

    def reported(self, report: Report) -> "Session":
        """The session with a report of this run, which may also draw, and fill the page."""
        parts = ("draw", "page", "text")
        own = {name: getattr(report, name) for name in parts if hasattr(report, name)}
        return replace(self, bench=replace(self.bench, report=report, **own))

    def save(
        self,
        cells: Sequence[Any],
        *,
        versions: Mapping[str, str],
        also: Mapping[str, Sequence[Any]] | None = None,
        whole: Mapping[str, Any] | None = None,
        **meta: Any,
    ) -> None:
        """Writes documents, pictures and page of the cells so far.

        `also` are further documents by name; the page is of all cells. `whole` are further members
        of documents; `meta` is as of `document`.
        """
        written = [
            document.document(
                name,
                started=self.started,
                versions=versions,
                cells=own,
                checks=self.bench.report.checks(own),
                quick=self.quick,
                **meta,
            )
            | dict(whole or {})
            for name, own in {self.bench.kept_as: cells, **(also or {})}.items()
        ]
        for measured in written:
            document.write(measured)
            document.write(measured, self.directory)
        self.publish(written[0]["meta"], [cell for one in written for cell in one["cells"]])

    def conclude(
        self,
        cells: Sequence[Any],
        *,
        versions: Mapping[str, str],
        also: Mapping[str, Sequence[Any]] | None = None,
        **meta: Any,
    ) -> int:
        """As `save`; prints tables and checks, too, and returns the exit status."""
        self.save(cells, versions=versions, also=also, **meta)
        return self.show([*cells, *(cell for own in (also or {}).values() for cell in own)])

    def again(self) -> int:
        """Writes and shows the page of a document again. Raises ExpectedError: none there."""
        file = self.directory / f"{self.bench.kept_as}.json"
        if not file.exists():
            raise ExpectedError(f"there is no {file}: measure first")
        measured = json.loads(file.read_text())
        self.publish(measured["meta"], measured["cells"])
        return self.show(measured["cells"])

    def publish(self, meta: Meta, cells: Sequence[Any]) -> None:
        """Draws the pictures and writes the page."""
        drawn = self.bench.draw(cells, self.directory)
        page = self.bench.page or self.bench.plain_page
        pages.write(page(meta, cells, drawn), self.directory)

    def show(self, cells: Sequence[Any]) -> int:
        """Prints tables and checks; returns the exit status, 1 when a check is missed."""
        for title, table in self.bench.report.tables(cells).items():
            self.console.print(terminal_table(title, table))
        held = checks.show(self.console, self.bench.report.checks(cells))
        self.console.print(f"Written: {relative(self.directory)}")
        return 0 if held else 1


def _directory(text: str) -> Path:
    """The directory of a page. Raises ArgumentTypeError."""
    # An empty variable of a script would be the present directory, whose README.md is replaced.
    if not text or (Path(text).exists() and not Path(text).is_dir()):
        raise argparse.ArgumentTypeError(f"{text!r} is no directory")
    return Path(text)


def option(*names: str, **settings: Any) -> Option:
    """One option, as `add_argument` of argparse takes it."""
    return lambda parser: parser.add_argument(*names, **settings)


def listed(text: str) -> list[str]:
    """The values of an option that takes several, with commas between them."""
    return text.split(",")


def some_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """The type of an option that takes several of these, with commas between them."""
    return lambda text: [_one_of(known, name) for name in listed(text)]


def nodes_from(least: int, most: int) -> Callable[[str], int]:
    """The type of an option that is a number of nodes, within these bounds."""

    def size(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(
                f"{text!r} is no number of nodes from {least} to {most}"
            )
        return int(text)

    return size


def names_of(metavar: str, known: Collection[str]) -> Option:
    """The positional option `names`: which parts are measured; none for all."""
    one = partial(_one_of, known)
    return option("names", nargs="*", metavar=metavar, type=one, help=", ".join(known))


def _one_of(known: Collection[str], text: str) -> str:
    if text not in known:
        raise argparse.ArgumentTypeError(f"no {text}; there are {', '.join(known)}")
    return text
