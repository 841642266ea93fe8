"""Comparisons for people and scripts: a table, a page, a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from scale_tests.prediction.compare import MOST_PERCENT, Comparison, Figure, bars
from scale_tests.results import document as documents
from scale_tests.results import page

HEAD = ("figure", "predicted (simulated)", "measured", "error, %")


def table(comparison: Comparison) -> Table:
    """One cell, for the terminal."""
    drawn = Table(title=_caption(comparison), title_justify="left")
    for column in HEAD:
        drawn.add_column(column, justify="left" if column == HEAD[0] else "right")
    for figure in comparison.figures:
        drawn.add_row(*_row(figure))
    return drawn


def written(comparisons: Sequence[Comparison], picture: Path, directory: Path) -> str:
    """All cells, as a page of Markdown for a file in `directory`."""
    summary = page.Section(
        title="Bars",
        text=[
            f"Held to {MOST_PERCENT:g} % of what was measured; * in the tables.",
            *(f"{bar.verdict}: {bar.name}: {bar.found}" for bar in bars(comparisons)),
        ],
        parts=[
            page.Picture(
                title="Predicted against measured",
                file=picture,
                caption="Each point is a cell; what is predicted is simulated.",
            )
        ],
    )
    cells = page.Section(
        title="Cells",
        text=[
            "Given to the prediction: the manifest, and how fast the pods started. A run on a"
            " machine that does not keep up takes longer than its counting; the factor is told."
        ],
        parts=[
            page.Table(
                caption=_caption(comparison),
                head=HEAD,
                rows=[_row(figure) for figure in comparison.figures],
            )
            for comparison in comparisons
        ],
    )
    return page.markdown(
        page.Page(title="Predicted and measured", sections=[summary, cells]), directory
    )


def document(
    comparisons: Sequence[Comparison],
    *,
    versions: Mapping[str, str],
    started: datetime,
    sources: Sequence[Path],
    seed: int,
) -> dict[str, Any]:
    """What `prediction.json` holds."""
    return documents.document(
        "prediction",
        started=started,
        versions=versions,
        cells=[comparison.json() for comparison in comparisons],
        bars=bars(comparisons),
        config={"cells": [source.name for source in sources]},
        seed=seed,
        simulated=True,
    )


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
