"""Comparisons for people and scripts: a table, a page, a document."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scale_tests.benches.prediction import pictures
from scale_tests.benches.prediction.compare import (
    HELD,
    MOST_PERCENT,
    Cells,
    Comparison,
    Figure,
    checks,
)
from scale_tests.host.commands import relative
from scale_tests.host.documents import data_of
from scale_tests.measure.cells import SLOW, Result
from scale_tests.measure.checks import Check
from scale_tests.measure.page import Page, Picture, Section, Table, bars_table, hardware, listed
from scale_tests.measure.tables import Column, tabulated

FIGURE: tuple[Column[Figure], ...] = (
    ("figure", lambda figure: figure.name + (" *" if figure.held else "")),
    ("predicted (simulated)", lambda figure: _number(figure.predicted, figure.unit)),
    ("measured", lambda figure: _number(figure.measured, figure.unit)),
    ("error, %", lambda figure: _error(figure)),
)

_TEXT: Mapping[str, str] = data_of(__file__)


@dataclass(frozen=True, kw_only=True)
class Run:
    """The cells, and a comparison of each whole one; the report of its benchmark."""

    sources: Sequence[Path]
    cells: Cells
    comparisons: Sequence[Comparison]
    seed: int

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets."""
        return checks(self.comparisons)

    def tables(self, _cells: Sequence[Any]) -> dict[str, Table]:
        """None: each comparison is printed when it is made."""
        return {}

    def draw(self, _cells: Sequence[Any], directory: Path) -> list[Picture]:
        """Draws the figures with a target."""
        caption = "Each mark is a cell; what is predicted is simulated."
        if not all(each.is_held for each in self.comparisons):
            caption += " Crosses are cells whose machine did not keep up."
        [drawn] = pictures.draw(self.comparisons, directory / "pictures", caption)
        return [replace(drawn, title="Predicted against measured")]

    def page(self, meta: Mapping[str, Any], cells: Sequence[Any], drawn: Sequence[Picture]) -> Page:
        """The page."""
        keeping = [each for each in self.comparisons if each.is_held]
        slow = [each for each in self.comparisons if not each.is_held]
        sources = shlex.quote(" ".join(str(relative(source)) for source in self.sources))
        sections = [
            Section(
                title="Targets",
                text=_introduction(self),
                parts=[bars_table(self.checks(cells)), *drawn],
            ),
            _side_by_side("Cells whose machine kept up", [_TEXT["side_by_side"]], keeping),
            _side_by_side("Cells whose machine did not keep up", _why_slow(slow), slow),
            Section(
                title="Cells that are not compared",
                text=[
                    f"{cell.nodes:,} {cell.overlay} {cell.synchronization}, trial {cell.trial}: "
                    f"{_reason(cell)}"
                    for cell in self.cells.others
                ],
            ),
            Section(
                title="Every figure of every cell",
                text=[_TEXT["figures"]],
                parts=[table(comparison) for comparison in self.comparisons],
            ),
            Section(title="Again", text=[_TEXT["again"].format(sources=sources)]),
        ]
        return Page(
            title=f"Predictions compared with real runs, {meta['started'][:10]}", sections=sections
        )


def table(comparison: Comparison) -> Table:
    """All figures of one cell."""
    return tabulated(FIGURE, comparison.figures.values(), _caption(comparison))


def _introduction(run: Run) -> list[str]:
    last = run.cells.whole[-1]
    where = hardware(last.machine) if last.machine else "a cluster elsewhere"
    values = {
        "count": len(run.comparisons),
        "where": where,
        "seed": run.seed,
        "versions": listed(last.versions),
        "most": MOST_PERCENT,
    }
    return [_TEXT[part].format(**values) for part in ("cells", "target")]


def _why_slow(slow: Sequence[Comparison]) -> list[str]:
    if not slow:
        return []
    named = "; ".join(
        f"{each.name} ({_times(each.cell.slowdown) or 'an unknown number of'} times{_busy(each)})"
        for each in slow
    )
    return [_TEXT["slow"].format(slow=SLOW, named=named)]


def _busy(comparison: Comparison) -> str:
    if comparison.busy is None:
        return ""
    return f", {100 * comparison.busy:.0f} % of all processors from the apply to the deletion"


def _reason(cell: Result) -> str:
    if cell.error is not None:
        return cell.error
    return "faults were injected" if cell.faults else "the counters of the nodes differ"


def _side_by_side(title: str, text: Sequence[str], some: Sequence[Comparison]) -> Section:
    return Section(title=title, text=text, parts=[_summary(some)] if some else [])


def _summary(comparisons: Sequence[Comparison]) -> Table:
    units = {"bytes": "MB", "s": "s"}

    def columns(name: str, title: str) -> tuple[Column[Comparison], ...]:
        def bare(value: float | None) -> str:
            return _number(value, unit).removesuffix(f" {units[unit]}")

        unit = comparisons[0].figures[name].unit
        return (
            (f"{title}, {units[unit]}: P", lambda each: bare(each.figures[name].predicted)),
            ("M", lambda each: bare(each.figures[name].measured)),
            ("error, %", lambda each: _error(each.figures[name])),
        )

    return tabulated(
        (
            ("nodes", lambda each: f"{each.cell.nodes:,}"),
            ("overlay", lambda each: each.cell.overlay),
            ("synchronization", lambda each: each.cell.synchronization),
            *(column for name in HELD for column in columns(name, name)),
            *columns("last count to convergence", "after counting")[:2],
            ("running / counting", lambda each: _times(each.cell.slowdown)),
            ("simulated at", lambda each: _sizes(each)),
        ),
        comparisons,
    )


def _times(slowdown: float | None) -> str:
    return "" if slowdown is None else f"{slowdown:.2f}"


def _sizes(comparison: Comparison) -> str:
    return " and ".join(f"{size:,}" for size in comparison.prediction.simulated_nodes)


def _caption(comparison: Comparison) -> str:
    cell = comparison.cell
    parts = [comparison.name, f"{cell.speedup:g} times as fast", f"#{cell.trial}"]
    if cell.slowdown is not None:
        parts.append(f"took {_times(cell.slowdown)} times its counting")
    if comparison.prediction.extrapolated:
        parts.append(f"extrapolated from {_sizes(comparison)} nodes")
    return ", ".join(parts)


def _error(figure: Figure) -> str:
    return "" if figure.error_percent is None else f"{figure.error_percent:+.1f}"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "bytes":
        return f"{value / 1e6:,.3f} MB"
    return f"{value:,.2f} {unit}".rstrip()
