"""Broadcasts: whom they reach, over how many hops, with how much redundancy."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scale_tests.benches.simulate import drawing
from scale_tests.benches.simulate.drawing import Figures, Picture
from scale_tests.measure.pictures import BLUE, GREY, PURPLE, SKY

RELIABLE = ("hyparview", "plumtree", "cyclon_acked", "cyclon", "scamp")
"""Protocols whose reliability is compared."""


def plot_reliability(figure: Figure, figures: Figures) -> None:
    """Share of the living that a broadcast reaches, against the share that failed."""
    axes = figure.add_subplot()
    drawing.lines(axes, figures, RELIABLE)
    axes.set_xlabel("nodes failed at once, %")
    axes.set_ylabel("reached by a broadcast, % of the living")
    axes.set_ylim(0, 104)


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


def plot_redundancy(figure: Figure, figures: Figures) -> None:
    """Plumtree's redundant payloads, broadcast by broadcast from one sender."""
    axes = figure.add_subplot()
    drawing.line(axes, [c for c in figures if isinstance(c.parameter, int)], "plumtree")
    axes.axhline(3, color=GREY, linestyle=":", label="eager gossip, paper")
    axes.axhline(0, color=PURPLE, linestyle=":", label="Plumtree in the end, paper")
    axes.set_xlabel("broadcast")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("relative message redundancy")
    axes.legend()


def plot_hops(figure: Figure, figures: Figures) -> None:
    """The last delivery hop of Plumtree, broadcast by broadcast from one sender."""
    axes = figure.add_subplot()
    drawing.line(axes, [c for c in figures if isinstance(c.parameter, int)], "plumtree")
    axes.axhspan(9, 10, color=PURPLE, alpha=0.15, label="one sender, paper")
    axes.set_xlabel("broadcast")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("last delivery hop")
    axes.set_ylim(bottom=0)
    axes.legend()


PICTURES = (
    Picture(
        name="reliability",
        title="broadcasts after simultaneous failures",
        experiment="reliability",
        plot=plot_reliability,
        overlays=RELIABLE,
    ),
    Picture(
        name="recovery",
        title="HyParView's first broadcasts after failures",
        experiment="recovery",
        plot=plot_recovery,
        overlays=("hyparview",),
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
)
