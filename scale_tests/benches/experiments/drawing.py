"""Drawing against the number of nodes.

Colours distinguish the ways to synchronise, lines and marks the overlays. Published values are
crosses of the same colour; simulated ones are dashed and hollow, and the legend says so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from scale_tests.benches.experiments.comparison import Simulated
from scale_tests.benches.experiments.tables import figures
from scale_tests.host.units import GIB
from scale_tests.measure.cells import Result
from scale_tests.measure.drawing import COLOURS, GREY, HOLLOW, curve, spreads
from scale_tests.measure.spread import Spread

OVERLAYS: tuple[dict[str, Any], ...] = (
    {"linestyle": "-", "marker": "o"},
    {"linestyle": (0, (1, 1.2)), "marker": "s"},
    {"linestyle": "-.", "marker": "^"},
    {"linestyle": (0, (5, 1, 1, 1)), "marker": "v"},
)


@dataclass(frozen=True, kw_only=True)
class Material:
    """The cells to draw."""

    cells: Sequence[Result]
    """Complete cells."""
    simulated: Sequence[Simulated]
    is_published: bool
    """Whether nodes count as often as in the published evaluation."""

    @cached_property
    def overlays(self) -> list[str]:
        """Their names in the order of their first occurrence."""
        return list(dict.fromkeys(cell.overlay for cell in self.cells))

    @cached_property
    def rows(self) -> dict[tuple[str, str], list[Result]]:
        """Cells that differ in their size and trial alone, by overlay and synchronization."""
        found: dict[tuple[str, str], list[Result]] = {}
        for cell in self.cells:
            found.setdefault((cell.overlay, cell.synchronization), []).append(cell)
        return found

    def style(self, overlay: str) -> dict[str, Any]:
        """The line and the mark of an overlay."""
        return OVERLAYS[self.overlays.index(overlay) % len(OVERLAYS)]


def by_size(values: Iterable[tuple[int, float | None]]) -> dict[int, Spread]:
    """Values by the nodes of their cells; sizes at which none is known are left out."""
    known: dict[int, list[float]] = {}
    for nodes, value in values:
        if value is not None:
            known.setdefault(nodes, []).append(value)
    return {nodes: Spread.of(own) for nodes, own in sorted(known.items())}


def rows(axes: Axes, material: Material, name: str) -> None:
    """A figure, by its name in `tables.figures`, of each row at each size."""
    for (overlay, mode), cells in material.rows.items():
        style = material.style(overlay) | {"color": colour(mode), "markersize": 4.5}
        points = by_size((cell.nodes, figures(cell)[name]) for cell in cells).items()
        spreads(axes, points, capsize=2, label=f"{overlay}, {mode}", **style)


def simulated(axes: Axes, cells: Iterable[Simulated]) -> None:
    """The payload of simulated cells in GiB, marked as such in the legend."""
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for cell in cells:
        points = found.setdefault((cell.overlay, cell.synchronization), [])
        points.append((cell.nodes, cell.bytes_payload / GIB))
    for (overlay, mode), points in found.items():
        style = {"color": colour(mode), "linestyle": "--", "linewidth": 0.9, **HOLLOW}
        curve(axes, points, label=f"{overlay}, {mode}, simulated", **style)


def colour(mode: str) -> str:
    """Of a way to synchronise."""
    return COLOURS.get(mode, GREY)


def drawn(axes: Axes) -> list[float]:
    """The numbers of nodes at which something is drawn."""
    return sorted({float(x) for line in axes.get_lines() for x in np.asarray(line.get_xdata())})


def against_nodes(axes: Axes, *, title: str = "", label: str = "", log: bool = False) -> None:
    """The axes of all that is drawn: nodes, and a figure from 0 or in powers of ten.

    Figures of one size become a bar chart: a line needs two.
    """
    if len(drawn(axes)) == 1:
        _bars(axes, title=title, label=label)
        return
    axes.set_title(title, loc="left", fontsize=10)
    if label:
        axes.set_ylabel(label)
    if log:
        axes.set_yscale("log")
    else:
        axes.autoscale_view()
        axes.set_ylim(0, 1.06 * max(axes.dataLim.ymax, 0.01))
    shown = drawn(axes)
    axes.set_xscale("log", base=2)
    axes.set_xticks(shown, [f"{nodes:,.0f}" for nodes in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("nodes")
    if len(shown) > 5:
        axes.tick_params(axis="x", labelsize=8)


def _bars(axes: Axes, *, title: str, label: str) -> None:
    """A bar chart of the lines' figures, instead of lines of one point each."""
    (nodes,) = drawn(axes)
    points = []
    for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
        line = handle[0] if isinstance(handle, Container) else handle
        assert isinstance(line, Line2D)
        points += [(name, line.get_color(), float(value)) for value in np.asarray(line.get_ydata())]
    axes.clear()
    names, colours, values = zip(*points, strict=True)
    rectangles = axes.barh(names, values, color=colours, height=0.6)
    axes.bar_label(rectangles, fmt="{:,.3g}", padding=3)
    # A figure alone does not fill the panel.
    axes.set_ylim(max(len(names), 3) - 0.5, -0.5)
    axes.set_xlim(0, 1.2 * max(*values, 0.01))
    axes.set_title(title or f"{nodes:,.0f} nodes", loc="left", fontsize=10)
    axes.set_xlabel(label)
