"""How figures are drawn against the number of nodes.

Colours tell the ways to synchronise apart, lines and marks the overlays. What is published is a
cross of the same colour; what is simulated is dashed and hollow, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from scale_tests.benches.experiments.series import At, Series
from scale_tests.benches.experiments.simulated import Simulated
from scale_tests.measure.cells import Result
from scale_tests.measure.pictures import COLOURS, GREY

LineStyle = str | tuple[int, tuple[float, ...]]

OVERLAYS: tuple[tuple[LineStyle, str], ...] = (
    ("-", "o"),
    ((0, (1, 1.2)), "s"),
    ("-.", "^"),
    ((0, (5, 1, 1, 1)), "v"),
)


@dataclass(frozen=True, kw_only=True)
class Material:
    """What there is to draw."""

    rows: Sequence[Series]
    simulated: Sequence[Simulated]
    is_published: bool
    """Whether nodes count as often as in the published evaluation."""

    @property
    def overlays(self) -> list[str]:
        """In the order in which they first occur."""
        return list(dict.fromkeys(row.overlay for row in self.rows))

    @property
    def cells(self) -> list[Result]:
        """Of all rows."""
        return [cell for row in self.rows for cell in row.cells]


def line(axes: Axes, material: Material, row: Series, of: Callable[[Result], float | None]) -> None:
    """A figure of a row's cells at each size, with the spread of the trials."""
    points = row.figure(of)
    linestyle, marker = style(material, row.overlay)
    axes.errorbar(
        [at.nodes for at in points],
        [at.median for at in points],
        yerr=spread(points),
        color=colour(row.synchronization),
        linestyle=linestyle,
        marker=marker,
        markersize=4.5,
        capsize=2,
        label=row.name,
    )


def simulated(axes: Axes, cells: Iterable[Simulated], of: Callable[[Simulated], float]) -> None:
    """A figure of simulated cells, which the legend says that they are."""
    rows: dict[tuple[str, str], list[Simulated]] = {}
    for cell in cells:
        rows.setdefault((cell.overlay, cell.synchronization), []).append(cell)
    for (overlay, mode), own in rows.items():
        axes.plot(
            [cell.nodes for cell in own],
            [of(cell) for cell in own],
            color=colour(mode),
            linestyle="--",
            linewidth=0.9,
            marker="o",
            markersize=8,
            markerfacecolor="none",
            label=f"{overlay}, {mode}, simulated",
        )


def spread(points: Sequence[At]) -> list[list[float]] | None:
    """The error bars; none where all sizes have one trial alone."""
    if all(at.low == at.high for at in points):
        return None
    return [[at.median - at.low for at in points], [at.high - at.median for at in points]]


def colour(mode: str) -> str:
    """Of a way to synchronise."""
    return COLOURS.get(mode, GREY)


def style(material: Material, overlay: str) -> tuple[LineStyle, str]:
    """The line and the mark of an overlay."""
    return OVERLAYS[material.overlays.index(overlay) % len(OVERLAYS)]


def drawn(axes: Axes) -> list[float]:
    """The numbers of nodes at which something is drawn."""
    return sorted({float(x) for line in axes.get_lines() for x in np.asarray(line.get_xdata())})


def against_nodes(axes: Axes) -> None:
    """The number of nodes as the horizontal axis, of all that is drawn."""
    shown = drawn(axes)
    axes.set_xscale("log", base=2)
    axes.set_xticks(shown, [f"{nodes:,.0f}" for nodes in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("nodes")
    if len(shown) > 5:
        axes.tick_params(axis="x", labelsize=8)


def from_zero(axes: Axes) -> None:
    """The vertical axis, from 0 to a little above all that is drawn."""
    axes.autoscale_view()
    axes.set_ylim(0, 1.06 * max(axes.dataLim.ymax, 0.01))


def legend(figure: Figure) -> None:
    """One legend below for all panels, each name once."""
    named = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if named:
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=3, fontsize=8)
