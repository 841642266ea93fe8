"""Comparisons for people and scripts: a table, a page, a document."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import rich.table

from scale_tests.benches.prediction import pictures
from scale_tests.benches.prediction.compare import MOST_PERCENT, Cells, Comparison, Figure, bars
from scale_tests.host.commands import relative
from scale_tests.measure import document as documents
from scale_tests.measure.bars import Bar
from scale_tests.measure.cells import SLOW, Result
from scale_tests.measure.document import RESULTS
from scale_tests.measure.page import Page, Picture, Section, Table, bars_table, hardware, listed
from scale_tests.measure.page import write as write_page

HEAD = ("figure", "predicted (simulated)", "measured", "error, %")


@dataclass(frozen=True, kw_only=True)
class Held:
    """All that a report is made of: the cells, and what was predicted for each whole one."""

    sources: Sequence[Path]
    cells: Cells
    comparisons: Sequence[Comparison]
    seed: int
    started: datetime


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was written: the page, and what predictions are held to."""

    page: Path
    bars: list[Bar]


def table(comparison: Comparison) -> rich.table.Table:
    """One cell, for the terminal."""
    drawn = rich.table.Table(title=_caption(comparison), title_justify="left")
    for column in HEAD:
        drawn.add_column(column, justify="left" if column == HEAD[0] else "right")
    for figure in comparison.figures:
        drawn.add_row(*_row(figure))
    return drawn


def write(held: Held, directory: Path, *, latest: Path = RESULTS) -> Report:
    """Writes page, pictures and document of some predictions into `directory`.

    The document is written into `latest`, too, where each measurement's last result is.
    """
    checked = bars(held.comparisons)
    measured = documents.document(
        "prediction",
        started=held.started,
        versions=held.cells.whole[-1].versions,
        cells=[comparison.json() for comparison in held.comparisons],
        bars=checked,
        config={"cells": [source.name for source in held.sources]},
        seed=held.seed,
        simulated=True,
    )
    documents.write(measured, directory)
    documents.write(measured, latest)
    svg, _png = pictures.draw(held.comparisons, directory / "pictures")
    readme, _html = write_page(_page(held, checked, svg), directory)
    return Report(page=readme, bars=checked)


def _page(held: Held, checked: Sequence[Bar], svg: Path) -> Page:
    keeping = [each for each in held.comparisons if each.is_held]
    slow = [each for each in held.comparisons if not each.is_held]
    sections = [
        Section(
            title="Bars",
            text=_introduction(held),
            parts=[
                bars_table(checked),
                Picture(
                    title="Predicted against measured",
                    file=svg,
                    caption=_marks(slow),
                ),
            ],
        ),
        Section(
            title="Cells whose machine kept up",
            text=_side_by_side(),
            parts=[_summary(keeping)] if keeping else [],
        ),
        Section(
            title="Cells whose machine did not keep up",
            text=_why_slow(slow),
            parts=[_summary(slow)] if slow else [],
        ),
        Section(title="Cells that are not compared", text=_others(held.cells.others)),
        Section(
            title="Every figure of every cell",
            text=[
                "Given to the prediction: the manifest, and how fast the pods started. What is "
                "marked * is held to something."
            ],
            parts=[
                Table(
                    caption=_caption(comparison),
                    head=HEAD,
                    rows=[_row(figure) for figure in comparison.figures],
                )
                for comparison in held.comparisons
            ],
        ),
        Section(
            title="Again",
            text=[
                f"`make prediction CELLS={_quoted(held.sources)} OUT=DIRECTORY`; "
                "`prediction.json` has all figures."
            ],
        ),
    ]
    return Page(
        title=f"Predictions held against real runs, {held.started:%Y-%m-%d}",
        sections=[section for section in sections if section.text or section.parts],
    )


def _quoted(sources: Sequence[Path]) -> str:
    return shlex.quote(" ".join(str(relative(source)) for source in sources))


def _introduction(held: Held) -> list[str]:
    last = held.cells.whole[-1]
    where = hardware(last.machine) if last.machine else "a cluster elsewhere"
    return [
        f"{len(held.comparisons)} cells, every one a PartisanCluster of real pods on {where}, each "
        f"beside what `kubectl partisan plan` predicts for its manifest; seed {held.seed}. "
        f"{listed(last.versions)}.",
        f"Payload, frames and the time from the start of a run to its convergence are held to "
        f"{MOST_PERCENT:g} % of what was measured, the worst of the cells whose machine kept up.",
    ]


def _marks(slow: Sequence[Comparison]) -> str:
    text = "Each mark is a cell; what is predicted is simulated."
    return f"{text} Crosses are cells whose machine did not keep up." if slow else text


def _side_by_side() -> list[str]:
    return [
        "P is predicted (simulated), M is measured. Start to convergence is from the start of the "
        "run until every node knew that all had counted to the end. Of that, after counting is "
        "what goes beyond increments x interval: short where intervals are, and on a real machine "
        "it holds whatever processors have delayed in the whole run, which is not simulated. So it "
        "is told, and held to nothing."
    ]


def _why_slow(slow: Sequence[Comparison]) -> list[str]:
    if not slow:
        return []
    named = "; ".join(f"{each.name} ({_slowdown(each)}{_busy(each)})" for each in slow)
    return [
        f"These took more than {SLOW:g} times as long as their counting: {named}. Processor time "
        "is not simulated. On so busy a machine increments are counted late, the run lasts longer, "
        "and nodes go on exchanging meanwhile, so that both bytes and seconds are more than the "
        "protocols ask for. The figures are told and held to nothing; a lower speedup gives the "
        "same machine more time."
    ]


def _slowdown(comparison: Comparison) -> str:
    if comparison.slowdown is None:
        return "not known how long it took"
    return f"{comparison.slowdown:.2f} times"


def _busy(comparison: Comparison) -> str:
    if comparison.busy is None:
        return ""
    return f", {100 * comparison.busy:.0f} % of all processors from the apply to the deletion"


def _others(others: Sequence[Result]) -> list[str]:
    return [
        f"{cell.nodes:,} {cell.overlay} {cell.synchronization}, trial {cell.trial}: {_reason(cell)}"
        for cell in others
    ]


def _reason(cell: Result) -> str:
    if cell.error is not None:
        return cell.error
    return "faults were done to it" if cell.faults else "the counters of the nodes differ"


def _summary(comparisons: Sequence[Comparison]) -> Table:
    names = [figure.name for figure in comparisons[0].figures if figure.held]
    units = {"bytes": "MB", "s": "s"}
    head = ["nodes", "overlay", "synchronization"]
    for name in names:
        unit = units[comparisons[0].figure(name).unit]
        head += [f"{name}, {unit}: P", "M", "error, %"]
    return Table(
        head=[*head, "after counting, s: P", "M", "running / counting", "simulated at"],
        rows=[_summary_row(comparison, names) for comparison in comparisons],
    )


def _summary_row(comparison: Comparison, names: Sequence[str]) -> list[str]:
    row = [f"{comparison.nodes:,}", comparison.overlay, comparison.synchronization]
    for name in names:
        _, predicted, measured, error = _row(comparison.figure(name))
        row += [predicted.removesuffix(" MB"), measured.removesuffix(" MB"), error]
    tail = comparison.figure("last count to convergence")
    _, predicted, measured, _error = _row(tail)
    sizes = " and ".join(f"{size:,}" for size in comparison.prediction.simulated_nodes)
    slowdown = "" if comparison.slowdown is None else f"{comparison.slowdown:.2f}"
    return [value.removesuffix(" s") for value in (*row, predicted, measured, slowdown, sizes)]


def _caption(comparison: Comparison) -> str:
    parts = [comparison.name, f"{comparison.speedup:g} times as fast", f"#{comparison.trial}"]
    if comparison.slowdown is not None:
        parts.append(f"took {comparison.slowdown:.2f} times its counting")
    if comparison.prediction.extrapolated:
        sizes = " and ".join(map(str, comparison.prediction.simulated_nodes))
        parts.append(f"extrapolated from {sizes} nodes")
    return ", ".join(parts)


def _row(figure: Figure) -> tuple[str, str, str, str]:
    error = figure.error_percent
    return (
        figure.name + (" *" if figure.held else ""),
        _number(figure.predicted, figure.unit),
        _number(figure.measured, figure.unit),
        "" if error is None else f"{error:+.1f}",
    )


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "bytes":
        return f"{value / 1e6:,.3f} MB"
    return f"{value:,.2f} {unit}".rstrip()
