"""The pictures of a run: ours as lines, the papers' as hollow marks of the same colour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scale_tests.results.pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    STYLE,
    VERMILION,
    save,
)
from scale_tests.simulate import churn, synchronization
from scale_tests.simulate.figure import Cell

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
    "kill_10": "10 % killed at once",
    "kill_30": "30 % killed at once",
    "kill_50": "50 % killed at once",
    "churn": "1 % a minute",
    "partition": "in two for a minute",
}

SHAPED = ("hyparview", "hyparview_burst", "cyclon", "scamp")
"""Overlays whose graphs are drawn."""

CHURN_SHOWN_SECONDS = 130
"""For how long replicas are shown after a fault: a partition of a minute, and what follows."""

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


def draw(figures: Figures, directory: Path) -> list[Path]:
    """Draws what there are figures for into `directory` and returns the files."""
    files: list[Path] = []
    for picture in PICTURES:
        wanted = [
            c
            for c in figures
            if c.experiment.startswith(picture.experiment)
            and (not picture.overlays or c.overlay in picture.overlays)
        ]
        shown = wanted if picture.every_size else _largest(wanted)
        if not shown:
            continue
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(8, 4.5), layout="constrained")
            picture.plot(figure, shown)
            sizes = sorted({c.nodes for c in shown})
            nodes = (
                f"{sizes[0]:,} to {sizes[-1]:,}"
                if len(sizes) > 2
                else " and ".join(f"{size:,}" for size in sizes)
            )
            figure.suptitle(
                f"Simulated: {picture.title} ({nodes} nodes)",
                x=0.01,
                ha="left",
                fontweight="bold",
                fontsize=11,
            )
            files += save(figure, directory, picture.name)
    return files


def plot_reliability(figure: Figure, figures: Figures) -> None:
    """Share of the living that a broadcast reaches, against the share that failed."""
    axes = figure.add_subplot()
    for overlay in ("hyparview", "plumtree", "cyclon_acked", "cyclon", "scamp"):
        _line(axes, figures, overlay)
    axes.set_xlabel("nodes failed at once, %")
    axes.set_ylabel("reached by a broadcast, % of the living")
    axes.set_ylim(0, 104)
    _legend(axes)


def plot_recovery(figure: Figure, figures: Figures) -> None:
    """Reach of each of the first broadcasts after the failures, HyParView."""
    axes = figure.add_subplot()
    for label, colour in (("80", SKY), ("90", BLUE), ("95", PURPLE)):
        points = [
            (float(c.parameter), c.value) for c in figures if c.experiment == f"recovery_{label}"
        ]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, label=f"{label} % failed")
    axes.set_xlabel("broadcast after the failures, one every 100 ms")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("reached, % of the living")
    axes.set_ylim(0, 104)
    axes.legend()


def plot_healing(figure: Figure, figures: Figures) -> None:
    """Cycles until broadcasts reach as many as before."""
    panels = figure.subplots(1, 2)
    for axes, overlay in zip(panels, ("hyparview", "cyclon"), strict=True):
        shown = [c for c in figures if c.overlay == overlay]
        _bars(axes, shown)
        sizes = [f", {size:,} nodes" for size in {c.nodes for c in shown}]
        axes.set_title(NAMES[overlay] + "".join(sizes), loc="left", fontsize=10)
        axes.set_xlabel("nodes failed at once, %")
        axes.set_ylabel("cycles to heal")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))


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
        _bars(axes, shown, [NAMES[c.overlay].replace(", ", ",\n") for c in shown])
        axes.set_ylabel(label)
        axes.tick_params(axis="x", labelrotation=45, labelsize=8)


def plot_in_degree(figure: Figure, figures: Figures) -> None:
    """How many nodes are known by so many others."""
    axes = figure.add_subplot()
    for overlay in SHAPED:
        _line(axes, figures, overlay)
    axes.set_xlabel("in-degree")
    axes.set_ylabel("nodes, %")
    axes.set_yscale("log")
    _legend(axes)


def plot_redundancy(figure: Figure, figures: Figures) -> None:
    """Plumtree's redundant payloads, broadcast by broadcast from one sender."""
    axes = figure.add_subplot()
    _line(axes, [c for c in figures if isinstance(c.parameter, int)], "plumtree")
    axes.axhline(3, color=GREY, linestyle=":", label="eager gossip, paper")
    axes.axhline(0, color=PURPLE, linestyle=":", label="Plumtree in the end, paper")
    axes.set_xlabel("broadcast")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("relative message redundancy")
    axes.legend()


def plot_hops(figure: Figure, figures: Figures) -> None:
    """The last delivery hop of Plumtree, broadcast by broadcast from one sender."""
    axes = figure.add_subplot()
    _line(axes, [c for c in figures if isinstance(c.parameter, int)], "plumtree")
    axes.axhspan(9, 10, color=PURPLE, alpha=0.15, label="one sender, paper")
    axes.set_xlabel("broadcast")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("last delivery hop")
    axes.set_ylim(bottom=0)
    axes.legend()


def plot_view_size(figure: Figure, figures: Figures) -> None:
    """SCAMP's views by their size."""
    axes = figure.add_subplot()
    _line(axes, figures, "scamp")
    axes.axvline(34, color=VERMILION, linestyle=":", label="median, paper")
    axes.axvline(46, color=GREY, linestyle=":", label="(c + 1) ln n at 10,000 nodes")
    axes.set_xlabel("entries in the view")
    axes.set_ylabel("nodes, %")
    axes.legend()


def plot_link_cost(figure: Figure, figures: Figures) -> None:
    """X-BOT's links getting shorter."""
    axes = figure.add_subplot()
    _line(axes, [c for c in figures if c.experiment == "link_cost"], "xbot")
    plain = [c.value for c in figures if c.overlay == "hyparview"]
    if plain:
        axes.axhline(plain[0], color=BLUE, linestyle="--", label="HyParView")
    axes.set_xlabel("cycle")
    axes.set_ylabel("mean round trip of a link, ms")
    axes.set_ylim(bottom=0)
    axes.legend()


def plot_synchronization(figure: Figure, figures: Figures) -> None:
    """What each way to synchronise transmits, against the number of nodes."""
    axes = figure.add_subplot()
    rows = synchronization.rows(figures)
    for mode in dict.fromkeys(row.mode for row in rows):
        own = [row for row in rows if row.mode == mode]
        axes.plot(
            [row.nodes for row in own],
            [row.payload for row in own],
            color=COLOURS[mode],
            marker=".",
            label=mode.capitalize(),
        )
        axes.plot(
            [row.nodes for row in own if row.published is not None],
            [row.published for row in own if row.published is not None],
            color=COLOURS[mode],
            linestyle="none",
            marker="o",
            markersize=8,
            markerfacecolor="none",
        )
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
    axes.set_xlabel("nodes")
    axes.set_ylabel("payload transmitted in 30 minutes, GiB")
    _legend(axes)


def plot_churn_reach(figure: Figure, figures: Figures) -> None:
    """The survivors that are connected, just after each kill, and throughout a partition."""
    kills, rest = figure.subplots(1, 2, sharey=True)
    for fault in ("kill_10", "kill_30", "kill_50"):
        _line(kills, [c for c in figures if float(c.parameter) <= 1], fault)
    for fault in ("churn", "partition"):
        _line(rest, figures, fault)
    kills.set_ylabel("connected, % of the survivors")
    kills.set_ylim(0, 104)
    for axes in (kills, rest):
        axes.set_xlabel("seconds since the fault began")
        if axes.lines:
            axes.legend()


def plot_churn_behind(figure: Figure, figures: Figures) -> None:
    """How far replicas of the ad counter are behind, in each mode."""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, mode in zip(panels, ("delta", "tree"), strict=True):
        for fault in ("kill_10", "kill_30", "kill_50", "churn", "partition"):
            own = [c for c in figures if c.experiment == f"{churn.BEHIND}_{mode}"]
            # The churn goes on as it begins.
            _line(axes, [c for c in own if float(c.parameter) <= CHURN_SHOWN_SECONDS], fault)
        axes.set_title(mode.capitalize(), loc="left", fontsize=10)
        axes.set_xlabel("seconds since the fault began")
    panels[0].set_ylabel("mean replica behind, seconds of counting")
    panels[0].set_ylim(bottom=0)
    handles = {
        label: h for a in panels for h, label in zip(*a.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)


PICTURES = (
    Picture(
        name="reliability",
        title="broadcasts after simultaneous failures",
        experiment="reliability",
        plot=plot_reliability,
        overlays=("hyparview", "plumtree", "cyclon_acked", "cyclon", "scamp"),
    ),
    Picture(
        name="recovery",
        title="HyParView's first broadcasts after failures",
        experiment="recovery",
        plot=plot_recovery,
        overlays=("hyparview",),
    ),
    Picture(name="healing", title="healing", experiment="healing", plot=plot_healing),
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
        name="redundancy",
        title="Plumtree's redundancy",
        experiment="relative_message_redundancy",
        plot=plot_redundancy,
    ),
    Picture(
        name="last_delivery_hop",
        title="Plumtree's depth",
        experiment="last_delivery_hop",
        plot=plot_hops,
    ),
    Picture(
        name="view_size",
        title="SCAMP's views",
        experiment="view_size_distribution",
        plot=plot_view_size,
    ),
    Picture(name="link_cost", title="X-BOT's links", experiment="link_cost", plot=plot_link_cost),
    Picture(
        name="synchronization",
        title="transmission of the ad counter",
        experiment=synchronization.EXPERIMENT,
        plot=plot_synchronization,
        every_size=True,
    ),
    Picture(
        name="churn_reach",
        title="survivors of faults",
        experiment=churn.REACH,
        plot=plot_churn_reach,
    ),
    Picture(
        name="churn_behind",
        title="the ad counter under faults",
        experiment=churn.BEHIND,
        plot=plot_churn_behind,
    ),
)


def _largest(cells: Iterable[Cell]) -> list[Cell]:
    """Of each overlay what was measured in the largest cluster."""
    figures = list(cells)
    sizes = dict.fromkeys({c.overlay for c in figures}, 0)
    for cell in figures:
        sizes[cell.overlay] = max(sizes[cell.overlay], cell.nodes)
    return [c for c in figures if c.nodes == sizes[c.overlay]]


def _line(axes: Axes, figures: Figures, overlay: str) -> None:
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
    paper = [(x, p) for x, _, p in shown if p is not None]
    if paper:
        axes.plot(
            *zip(*paper, strict=True),
            color=colour,
            linestyle="none",
            marker="o",
            markersize=8,
            markerfacecolor="none",
        )


def _bars(axes: Axes, figures: Figures, labels: Sequence[str] | None = None) -> None:
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


def _legend(axes: Axes) -> None:
    axes.plot(
        [], [], color=GREY, marker="o", markerfacecolor="none", linestyle="none", label="paper"
    )
    axes.legend()
