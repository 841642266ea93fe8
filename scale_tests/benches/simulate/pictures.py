"""The pictures of a run. Each draws the cells of an experiment into an empty figure."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scale_tests.benches.simulate import curves
from scale_tests.benches.simulate.drawing import (
    LINES,
    MODES,
    Figures,
    columns,
    legend,
    line,
    published,
)
from scale_tests.host.documents import data_of
from scale_tests.measure import drawing, page, synchronization
from scale_tests.measure.drawing import BLUE, GREY, PALETTE, Picture, curve, legend_below, panels


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Lines of cells, as `pictures.yaml` describes them."""

    title: str = ""
    lines: Sequence[str] = ()
    experiment: str = ""
    until: float = inf
    whole: bool = False
    axes: Mapping[str, Any]
    marks: Sequence[tuple[str, Sequence[float], Mapping[str, Any], str, str]] = ()

    def draw(self, axes: Axes, figures: Figures, overlays: Sequence[str]) -> None:
        """Draws its lines, else those of the overlays, and the marks of a paper's figures."""
        numbers = [c for c in figures if not isinstance(c.parameter, str)]
        shown = [c for c in numbers if float(c.parameter) <= self.until]
        for of in self.lines or overlays:
            line(axes, [c for c in shown if self.experiment in ("", c.experiment)], of)
        for draw, at, style, colour, label in self.marks:
            getattr(axes, draw)(*at, color=PALETTE[colour], label=label, **style)
        axes.set(**self.axes)
        axes.set_title(self.title, loc="left", fontsize=10)
        if self.whole:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A plot, and the cells that it draws, as `pictures.yaml` describes them."""

    name: str
    title: str
    experiment: str = ""
    overlays: Sequence[str] = ()
    every_size: bool = False
    legend: str = "papers"
    panels: Sequence[Panel] = ()

    def cells(self, figures: Figures) -> Figures:
        """Its cells; of each overlay those of the largest cluster, or of every size."""
        wanted = [
            c
            for c in figures
            if c.experiment.startswith(self.experiment or self.name)
            and (not self.overlays or c.overlay in self.overlays)
        ]
        if self.every_size:
            return wanted
        largest: dict[str, int] = {}
        for cell in wanted:
            largest[cell.overlay] = max(cell.nodes, largest.get(cell.overlay, 0))
        return [c for c in wanted if c.nodes == largest[c.overlay]]

    def picture(self, shown: Figures) -> Picture[Figures]:
        """The picture of its cells."""
        sizes = [f"{size:,}" for size in sorted({c.nodes for c in shown})]
        nodes = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 2 else " and ".join(sizes)
        draw = _OWN.get(self.name, self.draw)
        return Picture(
            name=self.name,
            title=f"Simulated: {self.title} ({nodes} nodes)",
            plot=lambda figure, _figures: draw(figure, shown),
        )

    def draw(self, figure: Figure, figures: Figures) -> None:
        """Draws its panels."""
        each = panels(figure, len(self.panels), share_y=True)
        for axes, panel in zip(each, self.panels, strict=True):
            panel.draw(axes, figures, self.overlays)
            if self.legend == "papers":
                legend(axes)
            elif self.legend == "own" and axes.lines:
                axes.legend()
        if self.legend == "below":
            legend_below(figure)


def _shape(figure: Figure, figures: Figures) -> None:
    wanted = {
        "clustering_coefficient": "clustering",
        "shortest_path": "shortest path, links",
        "max_hops": "hops of a broadcast",
    }
    for axes, (parameter, label) in zip(panels(figure, 3), wanted.items(), strict=True):
        shown = [c for c in figures if c.parameter == parameter]
        columns(axes, shown, [LINES[c.overlay][0].replace(", ", ",\n") for c in shown])
        axes.set_ylabel(label)
        axes.tick_params(axis="x", labelrotation=45, labelsize=8)


def _link_cost(figure: Figure, figures: Figures) -> None:
    axes = figure.add_subplot()
    line(axes, [c for c in figures if c.experiment == "link_cost"], "xbot")
    plain = [c.value for c in figures if c.overlay == "hyparview"]
    if plain:
        axes.axhline(plain[0], color=BLUE, linestyle="--", label="HyParView")
    axes.set(xlabel="cycle", ylabel="mean round trip of a link, ms", ylim=(0, None))
    axes.legend()


def _healing(figure: Figure, figures: Figures) -> None:
    """Cycles until broadcasts reach as many as before."""
    for axes, overlay in zip(panels(figure, 2), ("hyparview", "cyclon"), strict=True):
        shown = [c for c in figures if c.overlay == overlay]
        columns(axes, shown)
        sizes = [f", {size:,} nodes" for size in {c.nodes for c in shown}]
        axes.set_title(LINES[overlay][0] + "".join(sizes), loc="left", fontsize=10)
        axes.set(xlabel="nodes failed at once, %", ylabel="cycles to heal")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _synchronization(figure: Figure, figures: Figures) -> None:
    axes = figure.add_subplot()
    rows = synchronization.rows(figures)
    for mode in dict.fromkeys(row.mode for row in rows):
        own = [row for row in rows if row.mode == mode]
        points = ((row.nodes, row.payload) for row in own)
        curve(axes, points, color=MODES[mode], marker=".", label=mode.capitalize())
        theirs = [(row.nodes, row.published) for row in own if row.published is not None]
        published(axes, theirs, MODES[mode])
    sizes = sorted({row.nodes for row in rows})
    least = ((size, synchronization.least(size)) for size in sizes)
    label = "the final counts once to every node"
    curve(axes, least, color=GREY, linestyle=":", label=label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set(xlabel="nodes", ylabel="payload transmitted in 30 minutes, GiB", yscale="log")
    legend(axes)


def _growth(figure: Figure, figures: Figures) -> None:
    """Joining, degree, broadcasts and traffic, each in a panel of its own."""
    rows = curves.rows(figures)
    nodes = [row["nodes"] for row in rows]
    grid = figure.subplots(2, 2, sharex=True)
    for axes, panel in zip(grid.flat, _DATA["growth"], strict=True):
        for name, colour, label in panel["lines"]:
            style = {"color": PALETTE[colour], "marker": ".", "label": label}
            axes.plot(nodes, [row[name] for row in rows], **style)
        if between := panel.get("between"):
            least, most = ([row[end] for row in rows] for end in between)
            area = {"color": BLUE, "alpha": 0.15, "linewidth": 0}
            axes.fill_between(nodes, least, most, label="least to most", **area)
        axes.set(xscale="log", ylabel=panel["title"])
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
    for axes in grid[1]:
        axes.set_xticks(nodes, [f"{count:,}" for count in nodes])
        axes.minorticks_off()
        axes.set_xlabel("nodes")


_OWN: dict[str, Callable[[Figure, Figures], None]] = {
    "shape": _shape,
    "link_cost": _link_cost,
    "healing": _healing,
    synchronization.EXPERIMENT: _synchronization,
    curves.EXPERIMENT: _growth,
}
"""Plots that are more than lines, by name."""

_DATA = data_of(__file__)
PLOTS = [
    Plot(**{**plot, "panels": [Panel(**panel) for panel in plot.get("panels", ())]})
    for plot in _DATA["plots"]
]
"""All plots, in the order of a page."""


def draw(figures: Figures, directory: Path) -> list[page.Picture]:
    """Draws the plots with figures into `directory`, in files of the plots' names."""
    pictures = [plot.picture(shown) for plot in PLOTS if (shown := plot.cells(figures))]
    return drawing.draw(pictures, figures, directory)


def illustrate(figures: Figures, directory: Path) -> list[Path]:
    """Draws them as the documents have them, `simulated-NAME.svg`."""
    with TemporaryDirectory() as drawn:
        svgs = [picture.file for picture in draw(figures, Path(drawn))]
        return [Path(shutil.copy(svg, directory / f"simulated-{svg.name}")) for svg in svgs]
