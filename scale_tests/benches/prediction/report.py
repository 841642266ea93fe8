"""Comparisons for people and scripts: a table, a page, a document."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scale_tests.benches.prediction import pictures
from scale_tests.benches.prediction.compare import HELD, MOST_PERCENT, UNITS, Comparison, checks
from scale_tests.host.commands import relative
from scale_tests.host.documents import data_of
from scale_tests.measure.bench import NoReport
from scale_tests.measure.cells import SLOW, Result
from scale_tests.measure.checks import Check
from scale_tests.measure.page import Page, Picture, Section, Table, bars_table, hardware, listed

_TEXT: Mapping[str, str] = data_of(__file__)


@dataclass(frozen=True, kw_only=True)
class Run(NoReport):
    """Comparisons, of which there is at least one, and the cells without; a benchmark's report.

    It has no tables for the terminal: each comparison is printed when it is made.
    """

    sources: Sequence[Path]
    comparisons: Sequence[Comparison]
    others: Sequence[Result]
    seed: int

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets."""
        return checks(self.comparisons)

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
                    for cell in self.others
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
    rows = []
    for figure in comparison.figures.values():
        unit, *_ = UNITS[figure.unit]
        *values, error = figure.shown()
        both = [value and f"{value} {unit}".rstrip() for value in values]
        rows.append([figure.name + (" *" if figure.held else ""), *both, error])
    head = ("figure", "predicted (simulated)", "measured", "error, %")
    return Table(head=head, rows=rows, caption=_caption(comparison))


def _introduction(run: Run) -> list[str]:
    last = run.comparisons[-1].cell
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
    failed = "faults were injected" if cell.faults else "the counters of the nodes differ"
    return cell.error or failed


def _side_by_side(title: str, text: Sequence[str], some: Sequence[Comparison]) -> Section:
    return Section(title=title, text=text, parts=[_summary(some)] if some else [])


def _summary(comparisons: Sequence[Comparison]) -> Table:
    head, late = ["nodes", "overlay", "synchronization"], "last count to convergence"
    for name in HELD:
        unit, *_ = UNITS[comparisons[0].figures[name].unit]
        head += [f"{name}, {unit}: P", "M", "error, %"]
    head += ["after counting, s: P", "M", "running / counting", "simulated at"]
    rows = []
    for each in comparisons:
        cell, figures = each.cell, each.figures
        row = [f"{cell.nodes:,}", cell.overlay, cell.synchronization]
        row += [text for name in HELD for text in figures[name].shown()]
        rows.append([*row, *figures[late].shown()[:2], _times(cell.slowdown), _sizes(each)])
    return Table(head=head, rows=rows)


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
