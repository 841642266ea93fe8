"""Lines, marks and names of the pictures: ours filled, the papers' hollow in the same colour."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from scale_tests.benches.simulate import faults
from scale_tests.measure.drawing import BLUE, GREEN, GREY, HOLLOW, ORANGE, PURPLE, SKY, VERMILION
from scale_tests.measure.figure import Cell

OVERLAYS = {
    "hyparview": ("HyParView", BLUE),
    "hyparview_one_contact": ("HyParView, one contact", SKY),
    "hyparview_burst": ("HyParView, all at once", GREEN),
    "plumtree": ("Plumtree", PURPLE),
    "xbot": ("X-BOT", GREEN),
    "cyclon": ("Cyclon", ORANGE),
    "cyclon_acked": ("Cyclon, acknowledged", SKY),
    "scamp": ("SCAMP", VERMILION),
    "eager": ("eager gossip", GREY),
    "kill_10": (faults.NAMES["kill_10"], SKY),
    "kill_30": (faults.NAMES["kill_30"], BLUE),
    "kill_50": (faults.NAMES["kill_50"], PURPLE),
    "churn": (faults.NAMES["churn"], ORANGE),
    "partition": (faults.NAMES["partition"], VERMILION),
}
"""Names and colours of overlays, and of the faults that stand in their place."""

MODES = {"state": VERMILION, "delta": BLUE, "tree": GREEN, "aggregate": ORANGE}
"""Colours of the ways to synchronise."""

Figures = Sequence[Cell]


def line(axes: Axes, figures: Figures, overlay: str) -> None:
    """The cells of an overlay that have a number as their parameter, against that."""
    shown = sorted(
        (float(c.parameter), c.value, c.paper_value)
        for c in figures
        if c.overlay == overlay and not isinstance(c.parameter, str)
    )
    if not shown:
        return
    sizes = {c.nodes for c in figures}
    own = {c.nodes for c in figures if c.overlay == overlay}
    name, colour = OVERLAYS[overlay]
    label = name + "".join(f", {size:,} nodes" for size in own if len(sizes) > 1)
    points = [(x, y) for x, y, _ in shown]
    axes.plot(*zip(*points, strict=True), color=colour, marker=".", label=label)
    published(axes, [(x, p) for x, _, p in shown if p is not None], colour)


def lines(axes: Axes, figures: Figures, overlays: Sequence[str]) -> None:
    """The lines of several overlays, with their legend."""
    for overlay in overlays:
        line(axes, figures, overlay)
    legend(axes)


def published(axes: Axes, points: Sequence[tuple[float, float]], colour: str) -> None:
    """The papers' values, which nothing joins."""
    if points:
        axes.plot(*zip(*points, strict=True), color=colour, linestyle="none", **HOLLOW)


def bars(axes: Axes, figures: Figures, labels: Sequence[str] | None = None) -> None:
    """Ours filled, and the paper's hollow next to it."""
    places = range(len(figures))
    colours = [OVERLAYS[c.overlay][1] for c in figures]
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
