"""The pictures of a run."""

from collections.abc import Sequence
from math import isfinite

from matplotlib.figure import Figure

from scale_tests.benches.reply import figures
from scale_tests.benches.reply.figures import INLINE, MINIMAL, Way
from scale_tests.measure.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Picture,
    curve,
    legend_below,
    panels,
)
from scale_tests.measure.spread import Cell

_SHOWN = (
    (MINIMAL, BLUE, "-"),
    (Way(way="spawn_state", state_words=1000), VERMILION, "--"),
    (Way(way="spawn_state", state_words=10_000), VERMILION, "-"),
    (Way(way="spawn_state", state_words=100_000), PURPLE, "-"),
    (Way(way="pool"), GREEN, "-"),
    (Way(way="read"), ORANGE, "-"),
    (Way(way="ets"), SKY, "--"),
)


def _published(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Inline over spawned by the words that are copied, with the published ratio."""
    found = figures.runs(cells)
    axes = figure.subplots()
    for hashes, ring, colour in ((2, "strings", BLUE), (1, "strings", SKY), (1, "six", GREEN)):
        for figure_of, style, unit in (
            (figures.slowdown, "-", "requests/s"),
            (figures.dearer, "--", "processor time"),
        ):
            ratios = figures.by_words(found, ring, hashes, figure_of)
            if not ratios:
                return False
            label = f"{ring}, {'two hashes' if hashes > 1 else 'one hash'}, {unit}"
            axes.loglog(*zip(*ratios, strict=True), "o" + style, color=colour, label=label)
    label = f"published, {figures.PUBLISHED_RATIO:.1f}"
    axes.axhline(figures.PUBLISHED_RATIO, color=VERMILION, linewidth=1, label=label)
    axes.set_xlabel("words copied into the spawned process")
    axes.set_ylabel("spawned with the state,\ntimes as slow as inline")
    legend_below(figure)
    return True


def _crossover(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Rates over those inline against the cost of an answer, a panel for each number of callers."""
    found = figures.runs(cells)
    callers = list(dict.fromkeys(point.callers for point in found if point.sweep == "busy"))
    if not callers:
        return False
    for axes, many in zip(panels(figure, len(callers), share_y=True), callers, strict=True):
        for way, colour, style in _SHOWN:
            rates = ((cost, ratio.median) for cost, ratio in figures.by_cost(found, many, way))
            curve(axes, rates, "o" + style, markersize=4, color=colour, label=way.name)
        axes.axhline(1, color=GREY, linewidth=1, label=INLINE.name)
        located = figures.crossover_us(found, many, MINIMAL)
        if many > 1 and located and isfinite(located.median):
            axes.axvline(located.median, color=BLUE, linewidth=0.8, linestyle=":")
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
        axes.set(yscale="log", xlabel="cost of an answer, us")
        axes.set_title(f"{many} caller{'s' if many > 1 else ''}", loc="left")
    figure.axes[0].set_ylabel("requests a second\nover those of answering inline")
    legend_below(figure, columns=4)
    return True


PICTURES = (
    Picture(
        name="published",
        title="Dynomite's request: the cost of a copy",
        plot=_published,
        size=(8, 4.8),
    ),
    Picture(
        name="crossover",
        title="From which cost on a spawned process is faster than the server",
        plot=_crossover,
        size=(11, 4.8),
        caption="Dotted: the crossover of the minimal closure.",
    ),
)
