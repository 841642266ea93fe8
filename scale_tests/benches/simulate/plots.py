"""The plots of a run. Each draws the cells of an experiment into an empty figure."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scale_tests.benches.simulate import curves, drawing, faults
from scale_tests.benches.simulate.drawing import MODES, OVERLAYS, Figures
from scale_tests.measure import synchronization
from scale_tests.measure.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    legend_below,
    panels,
)

RELIABLE = ("hyparview", "plumtree", "cyclon_acked", "cyclon", "scamp")
"""Protocols whose reliability is compared."""

SHAPED = ("hyparview", "hyparview_burst", "cyclon", "scamp")
"""Overlays whose graphs are drawn."""

SYNCHRONIZATION = synchronization.EXPERIMENT

KILLS = ("kill_10", "kill_30", "kill_50")

CHURN_SHOWN_SECONDS = 130
"""For how long replicas are shown after a fault: a partition of a minute, and what follows."""


def _whole(axes: Axes) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _reliability(figure: Figure, figures: Figures) -> None:
    """Share of the living nodes that a broadcast reaches, against the share that failed."""
    axes = figure.add_subplot()
    drawing.lines(axes, figures, RELIABLE)
    axes.set(xlabel="nodes failed at once, %", ylabel="reached by a broadcast, % of the living")
    axes.set_ylim(0, 104)


def _recovery(figure: Figure, figures: Figures) -> None:
    axes = figure.add_subplot()
    for label, colour in (("80", SKY), ("90", BLUE), ("95", PURPLE)):
        points = [
            (float(c.parameter), c.value) for c in figures if c.experiment == f"recovery_{label}"
        ]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, label=f"{label} % failed")
    axes.set_xlabel("broadcast after the failures, one every 100 ms")
    _whole(axes)
    axes.set(ylabel="reached, % of the living", ylim=(0, 104))
    axes.legend()


def _by_broadcast(figure: Figure, figures: Figures, label: str) -> Axes:
    """A figure of Plumtree, broadcast by broadcast from one sender."""
    axes = figure.add_subplot()
    drawing.line(axes, [c for c in figures if isinstance(c.parameter, int)], "plumtree")
    axes.set(xlabel="broadcast", ylabel=label)
    _whole(axes)
    return axes


def _redundancy(figure: Figure, figures: Figures) -> None:
    """Redundant payloads."""
    axes = _by_broadcast(figure, figures, "relative message redundancy")
    axes.axhline(3, color=GREY, linestyle=":", label="eager gossip, paper")
    axes.axhline(0, color=PURPLE, linestyle=":", label="Plumtree in the end, paper")
    axes.legend()


def _hops(figure: Figure, figures: Figures) -> None:
    axes = _by_broadcast(figure, figures, "last delivery hop")
    axes.axhspan(9, 10, color=PURPLE, alpha=0.15, label="one sender, paper")
    axes.set_ylim(bottom=0)
    axes.legend()


def _shape(figure: Figure, figures: Figures) -> None:
    wanted = {
        "clustering_coefficient": "clustering",
        "shortest_path": "shortest path, links",
        "max_hops": "hops of a broadcast",
    }
    for axes, (parameter, label) in zip(panels(figure, 3), wanted.items(), strict=True):
        shown = [c for c in figures if c.parameter == parameter]
        drawing.bars(axes, shown, [OVERLAYS[c.overlay][0].replace(", ", ",\n") for c in shown])
        axes.set_ylabel(label)
        axes.tick_params(axis="x", labelrotation=45, labelsize=8)


def _in_degree(figure: Figure, figures: Figures) -> None:
    axes = figure.add_subplot()
    drawing.lines(axes, figures, SHAPED)
    axes.set(xlabel="in-degree", ylabel="nodes, %", yscale="log")


def _view_size(figure: Figure, figures: Figures) -> None:
    axes = figure.add_subplot()
    drawing.line(axes, figures, "scamp")
    axes.axvline(34, color=VERMILION, linestyle=":", label="median, paper")
    axes.axvline(46, color=GREY, linestyle=":", label="(c + 1) ln n at 10,000 nodes")
    axes.set(xlabel="entries in the view", ylabel="nodes, %")
    axes.legend()


def _link_cost(figure: Figure, figures: Figures) -> None:
    axes = figure.add_subplot()
    drawing.line(axes, [c for c in figures if c.experiment == "link_cost"], "xbot")
    plain = [c.value for c in figures if c.overlay == "hyparview"]
    if plain:
        axes.axhline(plain[0], color=BLUE, linestyle="--", label="HyParView")
    axes.set(xlabel="cycle", ylabel="mean round trip of a link, ms")
    axes.set_ylim(bottom=0)
    axes.legend()


def _healing(figure: Figure, figures: Figures) -> None:
    """Cycles until broadcasts reach as many as before."""
    for axes, overlay in zip(panels(figure, 2), ("hyparview", "cyclon"), strict=True):
        shown = [c for c in figures if c.overlay == overlay]
        drawing.bars(axes, shown)
        sizes = [f", {size:,} nodes" for size in {c.nodes for c in shown}]
        axes.set_title(OVERLAYS[overlay][0] + "".join(sizes), loc="left", fontsize=10)
        axes.set(xlabel="nodes failed at once, %", ylabel="cycles to heal")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _churn_reach(figure: Figure, figures: Figures) -> None:
    """The survivors that are connected, just after each kill, and throughout the other faults."""
    kills, rest = panels(figure, 2, share_y=True)
    for fault in KILLS:
        drawing.line(kills, [c for c in figures if float(c.parameter) <= 1], fault)
    for fault in ("churn", "partition"):
        drawing.line(rest, figures, fault)
    kills.set(ylabel="connected, % of the survivors", ylim=(0, 104))
    for axes in (kills, rest):
        axes.set_xlabel("seconds since the fault began")
        if axes.lines:
            axes.legend()


def _synchronization(figure: Figure, figures: Figures) -> None:
    axes = figure.add_subplot()
    rows = synchronization.rows(figures)
    for mode in dict.fromkeys(row.mode for row in rows):
        own = [row for row in rows if row.mode == mode]
        points = [(row.nodes, row.payload) for row in own]
        colour = MODES[mode]
        axes.plot(*zip(*points, strict=True), color=colour, marker=".", label=mode.capitalize())
        published = [(row.nodes, row.published) for row in own if row.published is not None]
        drawing.published(axes, published, colour)
    sizes = sorted({row.nodes for row in rows})
    axes.plot(
        sizes,
        [synchronization.least(size) for size in sizes],
        color=GREY,
        linestyle=":",
        label="the final counts once to every node",
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set(xlabel="nodes", ylabel="payload transmitted in 30 minutes, GiB")
    drawing.legend(axes)


def _churn_behind(figure: Figure, figures: Figures) -> None:
    both = panels(figure, 2, share_y=True)
    for axes, mode in zip(both, ("delta", "tree"), strict=True):
        for fault in (*KILLS, "churn", "partition"):
            own = [c for c in figures if c.experiment == f"{faults.BEHIND}_{mode}"]
            # The churn goes on as it begins.
            drawing.line(axes, [c for c in own if float(c.parameter) <= CHURN_SHOWN_SECONDS], fault)
        axes.set_title(mode.capitalize(), loc="left", fontsize=10)
        axes.set_xlabel("seconds since the fault began")
    both[0].set_ylabel("mean replica behind, seconds of counting")
    both[0].set_ylim(bottom=0)
    legend_below(figure)


def _growth(figure: Figure, figures: Figures) -> None:
    """Joining, degree, broadcasts and traffic, each in a panel of its own."""
    rows = curves.rows(figures)
    nodes = [row["nodes"] for row in rows]
    (joining, degree), (broadcasts, traffic) = figure.subplots(2, 2, sharex=True)

    def line(axes: Axes, name: str, colour: str, label: str, times: float = 1) -> None:
        values = [times * row[name] for row in rows]
        axes.plot(nodes, values, color=colour, marker=".", label=label)

    line(joining, "join_seconds_median", BLUE, "median node")
    line(joining, "join_seconds_most", ORANGE, "slowest node")
    line(joining, "whole_seconds", GREEN, "one component")
    line(degree, "mean_degree", BLUE, "mean")
    least, most = ([row[f"{end}_degree"] for row in rows] for end in ("least", "most"))
    area = {"color": BLUE, "alpha": 0.15, "linewidth": 0}
    degree.fill_between(nodes, least, most, label="least to most", **area)
    line(broadcasts, "broadcast_hops", BLUE, "hops")
    line(broadcasts, "broadcast_seconds", ORANGE, "hundredths of a second", 100)
    line(traffic, "forming_kilobytes", ORANGE, "forming, kB")
    line(traffic, "bytes_per_node_second", BLUE, "settled, kB/s", 1 / 1000)
    for axes, label in (
        (joining, "seconds from the start"),
        (degree, "neighbours"),
        (broadcasts, "until the last node hears"),
        (traffic, "sent by a node"),
    ):
        axes.set(ylabel=label, xscale="log")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
    for axes in (broadcasts, traffic):
        axes.set_xticks(nodes, [f"{count:,}" for count in nodes])
        axes.minorticks_off()
        axes.set_xlabel("nodes")


@dataclass(frozen=True)
class Plot:
    """A plot, and the cells that it draws."""

    draw: Callable[[Figure, Figures], None]
    name: str
    title: str
    experiment: str = ""
    """The beginning of the names of its experiments; its own name where it is empty."""
    overlays: tuple[str, ...] = ()
    """All that were measured where there are none."""
    every_size: bool = False
    """Whether clusters of every size are drawn, not the largest only."""


PLOTS = (
    Plot(_reliability, "reliability", "broadcasts after simultaneous failures", overlays=RELIABLE),
    Plot(
        _recovery,
        "recovery",
        "HyParView's first broadcasts after failures",
        overlays=("hyparview",),
    ),
    Plot(_redundancy, "redundancy", "Plumtree's redundancy", "relative_message_redundancy"),
    Plot(_hops, "last_delivery_hop", "Plumtree's depth"),
    Plot(_shape, "shape", "the overlays as graphs", overlays=SHAPED),
    Plot(_in_degree, "in_degree", "in-degrees", overlays=SHAPED),
    Plot(_view_size, "view_size", "SCAMP's views", "view_size_distribution"),
    Plot(_link_cost, "link_cost", "X-BOT's links"),
    Plot(_healing, "healing", "healing"),
    Plot(_churn_reach, faults.REACH, "survivors of faults"),
    Plot(_synchronization, SYNCHRONIZATION, "transmission of the ad counter", every_size=True),
    Plot(_churn_behind, faults.BEHIND, "the ad counter under faults"),
    Plot(_growth, curves.EXPERIMENT, "the overlay against its size", every_size=True),
)
"""All plots, in the order of a page."""
