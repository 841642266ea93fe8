"""How figures are drawn: ours as lines, the papers' as hollow marks of the same colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scale_tests.benches.simulate.churn import FAULTS
from scale_tests.measure.figure import Cell
from scale_tests.measure.pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

COLOURS = {
    "hyparview": BLUE,
    "hyparview_one_contact": SKY,
    "hyparview_burst": GREEN,
    "plumtree": PURPLE,
    "xbot": GREEN,
    "cyclon": ORANGE,
    "cyclon_acked": SKY,
    "scamp": VERMILION,
    "eager": GREY,
    "state": VERMILION,
    "delta": BLUE,
    "tree": GREEN,
    "aggregate": ORANGE,
    "kill_10": SKY,
    "kill_30": BLUE,
    "kill_50": PURPLE,
    "churn": ORANGE,
    "partition": VERMILION,
}

NAMES = {
    "hyparview": "HyParView",
    "hyparview_one_contact": "HyParView, one contact",
    "hyparview_burst": "HyParView, all at once",
    "plumtree": "Plumtree",
    "xbot": "X-BOT",
    "cyclon": "Cyclon",
    "cyclon_acked": "Cyclon, acknowledged",
    "scamp": "SCAMP",
    "eager": "eager gossip",
    **FAULTS,
}

Figures = Sequence[Cell]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One picture: the experiment without whose cells there is nothing to draw, and its plot."""

    name: str
    title: str
    experiment: str
    plot: Callable[[Figure, Figures], None]
    overlays: tuple[str, ...] = ()
    """The overlays that are drawn; all that were measured where there are none."""
    every_size: bool = False
    """Whether clusters of every size are drawn, not the largest only."""


def line(axes: Axes, figures: Figures, overlay: str) -> None:
    """The cells of an overlay that have a number as their parameter, against that."""
    shown = sorted(
        (float(c.parameter), c.value, c.paper_value)
        for c in figures
        if c.overlay == overlay and not isinstance(c.parameter, str)
    )
    if not shown:
        return
    colour = COLOURS[overlay]
    sizes = {c.nodes for c in figures}
    own = {c.nodes for c in figures if c.overlay == overlay}
    label = NAMES[overlay] + "".join(f", {size:,} nodes" for size in own if len(sizes) > 1)
    axes.plot(
        [x for x, _, _ in shown],
        [y for _, y, _ in shown],
        color=colour,
        marker=".",
        label=label,
    )
    if paper := [(x, p) for x, _, p in shown if p is not None]:
        published(axes, paper, colour)


def lines(axes: Axes, figures: Figures, overlays: Sequence[str]) -> None:
    """The lines of several overlays, with their legend."""
    for overlay in overlays:
        line(axes, figures, overlay)
    legend(axes)


def published(axes: Axes, points: Sequence[tuple[float, float]], colour: str) -> None:
    """The papers' values, which nothing joins."""
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        color=colour,
        linestyle="none",
        marker="o",
        markersize=8,
        markerfacecolor="none",
    )


def bars(axes: Axes, figures: Figures, labels: Sequence[str] | None = None) -> None:
    """Ours filled, and the paper's hollow beside it."""
    places = range(len(figures))
    colours = [COLOURS[c.overlay] for c in figures]
    axes.bar([p - 0.2 for p in places], [c.value for c in figures], 0.38, color=colours)
    axes.bar(
        [p + 0.2 for p in places],
        [c.paper_value or 0 for c in figures],
        0.38,
        facecolor="none",
        edgecolor=colours,
        linewidth=1.5,
    )
    axes.set_xticks(list(places), labels or [str(c.parameter) for c in figures])
    axes.plot([], [], color=GREY, marker="s", linestyle="none", label="ours")
    axes.plot(
        [], [], color=GREY, marker="s", linestyle="none", markerfacecolor="none", label="paper"
    )
    axes.legend()


def legend(axes: Axes) -> None:
    """The legend, which says what the hollow marks are."""
    axes.plot(
        [], [], color=GREY, marker="o", markerfacecolor="none", linestyle="none", label="paper"
    )
    axes.legend()
