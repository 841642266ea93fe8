"""Predicted against measured, for each figure that is held to something."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

from scale_tests.benches.prediction.compare import MOST_PERCENT, Comparison, Figure
from scale_tests.measure.pictures import COLOURS, GREY, STYLE, save

NAME = "predicted"

UNITS = {"bytes": ("MB", 1e6), "s": ("s", 1.0)}
"""How figures are drawn that are held to something: the unit, and how many of theirs it is."""


def draw(comparisons: Sequence[Comparison], directory: Path) -> list[Path]:
    """One picture with a panel for each figure; returns its files."""
    names = [figure.name for figure in comparisons[0].figures if figure.held]
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=(3.2 * len(names), 3.6), layout="constrained")
        panels = drawing.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            _panel(axes, name, comparisons)
        drawing.suptitle(
            f"Predicted (simulated) against measured; grey: within {MOST_PERCENT:g} %", fontsize=11
        )
        return save(drawing, directory, NAME)


def _panel(axes: Axes, name: str, comparisons: Sequence[Comparison]) -> None:
    points = [
        (comparison, figure)
        for comparison in comparisons
        for figure in comparison.figures
        if figure.name == name and _is_whole(figure)
    ]
    axes.set_title(name, loc="left", fontsize=10)
    axes.set_ylabel("predicted")
    if not points:
        axes.set_xlabel("not measured")
        return
    unit, scale = UNITS[points[0][1].unit]
    axes.set_xlabel(f"measured, {unit}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    values = [value / scale for _, f in points for value in (f.measured, f.predicted) if value]
    # Over many decades there is room for the powers of ten alone.
    subs = (1, 2, 5) if max(values) < 30 * min(values) else (1,)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FormatStrFormatter("%g"))
        axis.set_minor_locator(NullLocator())
    ends = [min(values) / 1.5, max(values) * 1.5]
    off = MOST_PERCENT / 100
    axes.fill_between(
        ends,
        [end * (1 - off) for end in ends],
        [end * (1 + off) for end in ends],
        color=GREY,
        alpha=0.2,
        linewidth=0,
    )
    for mode in dict.fromkeys(comparison.synchronization for comparison, _ in points):
        # Hollow, as everything that is simulated; a cross where the machine did not keep up.
        for marker, is_held in (("o", True), ("x", False)):
            chosen = [
                figure
                for comparison, figure in points
                if comparison.synchronization == mode and comparison.is_held == is_held
            ]
            if chosen:
                axes.plot(
                    [(figure.measured or 0.0) / scale for figure in chosen],
                    [(figure.predicted or 0.0) / scale for figure in chosen],
                    linestyle="none",
                    marker=marker,
                    markerfacecolor="none",
                    color=COLOURS.get(mode, GREY),
                    label=mode if is_held else f"{mode}, machine too slow",
                )
    axes.legend(fontsize=8)


def _is_whole(figure: Figure) -> bool:
    return (
        figure.measured is not None
        and figure.predicted is not None
        and min(figure.measured, figure.predicted) > 0
    )
