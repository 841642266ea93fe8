"""Overlays as graphs: their shape, and how they take failures."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scale_tests.benches.simulate import churn, drawing
from scale_tests.benches.simulate.drawing import Figures, Picture
from scale_tests.measure.pictures import BLUE, GREY, VERMILION

SHAPED = ("hyparview", "hyparview_burst", "cyclon", "scamp")
"""Overlays whose graphs are drawn."""


def plot_shape(figure: Figure, figures: Figures) -> None:
    """Clustering, shortest path and hops of a broadcast, of each overlay."""
    panels = figure.subplots(1, 3)
    wanted = (
        ("clustering_coefficient", "clustering"),
        ("shortest_path", "shortest path, links"),
        ("max_hops", "hops of a broadcast"),
    )
    for axes, (parameter, label) in zip(panels, wanted, strict=True):
        shown = [c for c in figures if c.parameter == parameter]
        drawing.bars(axes, shown, [drawing.NAMES[c.overlay].replace(", ", ",\n") for c in shown])
        axes.set_ylabel(label)
        axes.tick_params(axis="x", labelrotation=45, labelsize=8)


def plot_in_degree(figure: Figure, figures: Figures) -> None:
    """How many nodes are known by so many others."""
    axes = figure.add_subplot()
    drawing.lines(axes, figures, SHAPED)
    axes.set_xlabel("in-degree")
    axes.set_ylabel("nodes, %")
    axes.set_yscale("log")


def plot_view_size(figure: Figure, figures: Figures) -> None:
    """SCAMP's views by their size."""
    axes = figure.add_subplot()
    drawing.line(axes, figures, "scamp")
    axes.axvline(34, color=VERMILION, linestyle=":", label="median, paper")
    axes.axvline(46, color=GREY, linestyle=":", label="(c + 1) ln n at 10,000 nodes")
    axes.set_xlabel("entries in the view")
    axes.set_ylabel("nodes, %")
    axes.legend()


def plot_link_cost(figure: Figure, figures: Figures) -> None:
    """X-BOT's links getting shorter."""
    axes = figure.add_subplot()
    drawing.line(axes, [c for c in figures if c.experiment == "link_cost"], "xbot")
    plain = [c.value for c in figures if c.overlay == "hyparview"]
    if plain:
        axes.axhline(plain[0], color=BLUE, linestyle="--", label="HyParView")
    axes.set_xlabel("cycle")
    axes.set_ylabel("mean round trip of a link, ms")
    axes.set_ylim(bottom=0)
    axes.legend()


def plot_healing(figure: Figure, figures: Figures) -> None:
    """Cycles until broadcasts reach as many as before."""
    panels = figure.subplots(1, 2)
    for axes, overlay in zip(panels, ("hyparview", "cyclon"), strict=True):
        shown = [c for c in figures if c.overlay == overlay]
        drawing.bars(axes, shown)
        sizes = [f", {size:,} nodes" for size in {c.nodes for c in shown}]
        axes.set_title(drawing.NAMES[overlay] + "".join(sizes), loc="left", fontsize=10)
        axes.set_xlabel("nodes failed at once, %")
        axes.set_ylabel("cycles to heal")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def plot_churn_reach(figure: Figure, figures: Figures) -> None:
    """The survivors that are connected, just after each kill, and throughout a partition."""
    kills, rest = figure.subplots(1, 2, sharey=True)
    for fault in ("kill_10", "kill_30", "kill_50"):
        drawing.line(kills, [c for c in figures if float(c.parameter) <= 1], fault)
    for fault in ("churn", "partition"):
        drawing.line(rest, figures, fault)
    kills.set_ylabel("connected, % of the survivors")
    kills.set_ylim(0, 104)
    for axes in (kills, rest):
        axes.set_xlabel("seconds since the fault began")
        if axes.lines:
            axes.legend()


PICTURES = (
    Picture(
        name="shape",
        title="the overlays as graphs",
        experiment="shape",
        plot=plot_shape,
        overlays=SHAPED,
    ),
    Picture(
        name="in_degree",
        title="in-degrees",
        experiment="in_degree",
        plot=plot_in_degree,
        overlays=SHAPED,
    ),
    Picture(
        name="view_size",
        title="SCAMP's views",
        experiment="view_size_distribution",
        plot=plot_view_size,
    ),
    Picture(name="link_cost", title="X-BOT's links", experiment="link_cost", plot=plot_link_cost),
    Picture(name="healing", title="healing", experiment="healing", plot=plot_healing),
    Picture(
        name="churn_reach",
        title="survivors of faults",
        experiment=churn.REACH,
        plot=plot_churn_reach,
    ),
)
