"""Lines, marks and names of the pictures: ours filled, the papers' hollow in the same colour."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from scale_tests.benches.simulate import faults
from scale_tests.host.documents import data_of
from scale_tests.measure.drawing import GREY, HOLLOW, PALETTE, curve
from scale_tests.measure.figure import Cell

_DATA = data_of(__file__)
LINES = {
    **{name: (title, PALETTE[colour]) for name, (title, colour) in _DATA["lines"].items()},
    **{name: (faults.NAMES[name], PALETTE[colour]) for name, colour in _DATA["faults"].items()},
}
"""Names and colours of overlays, of the faults that stand in their place, and of experiments."""

MODES = {mode: PALETTE[colour] for mode, colour in _DATA["modes"].items()}
"""Colours of the ways to synchronise."""

Figures = Sequence[Cell]


def line(axes: Axes, figures: Figures, of: str) -> None:
    """The cells of an overlay or experiment against their parameters, which are numbers."""
    own = [c for c in figures if of in (c.overlay, c.experiment)]
    shown = sorted((float(c.parameter), c.value, c.paper_value) for c in own)
    if not shown:
        return
    name, colour = LINES[of]
    several = len({c.nodes for c in figures}) > 1
    label = name + "".join(f", {size:,} nodes" for size in {c.nodes for c in own} if several)
    curve(axes, [(x, y) for x, y, _ in shown], color=colour, marker=".", label=label)
    published(axes, [(x, p) for x, _, p in shown if p is not None], colour)


def published(axes: Axes, points: Sequence[tuple[float, float]], colour: str) -> None:
    """The papers' values, which nothing joins."""
    curve(axes, points, color=colour, linestyle="none", **HOLLOW)


def columns(axes: Axes, figures: Figures, labels: Sequence[str] | None = None) -> None:
    """Ours filled, and the paper's hollow next to it."""
    places = range(len(figures))
    colours = [LINES[c.overlay][1] for c in figures]
    hollow: Any = {"facecolor": "none", "edgecolor": colours, "linewidth": 1.5}
    axes.bar([p - 0.2 for p in places], [c.value for c in figures], 0.38, color=colours)
    axes.bar([p + 0.2 for p in places], [c.paper_value or 0 for c in figures], 0.38, **hollow)
    axes.set_xticks(list(places), labels or [str(c.parameter) for c in figures])
    mark: Any = {"color": GREY, "marker": "s", "linestyle": "none"}
    axes.plot([], [], label="ours", **mark)
    axes.plot([], [], label="paper", markerfacecolor="none", **mark)
    axes.legend()


def legend(axes: Axes) -> None:
    """The legend, with the hollow marks."""
    mark: Any = {"color": GREY, "marker": "o", "markerfacecolor": "none", "linestyle": "none"}
    axes.plot([], [], label="paper", **mark)
    axes.legend()
