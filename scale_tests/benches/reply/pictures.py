"""The pictures of a run."""

from collections.abc import Sequence
from math import isfinite

from matplotlib.figure import Figure

from scale_tests.benches.reply import figures
from scale_tests.benches.reply.figures import INLINE, MINIMAL, Way
from scale_tests.host.documents import data_of
from scale_tests.measure.drawing import PALETTE, Picture, curve, legend_below, panels
from scale_tests.measure.spread import Cell

_DATA = data_of(__file__)


def _published(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Inline over spawned by the words that are copied, with the published ratio."""
    found = figures.runs(cells)
    axes = figure.subplots()
    for ring, hashes, name in _DATA["rings"]:
        for figure_of, style, unit in (
            (figures.slowdown, "-", "requests/s"),
            (figures.dearer, "--", "processor time"),
        ):
            ratios = figures.by_words(found, ring, hashes, figure_of)
            if not ratios:
                return False
            label = f"{ring}, {'two hashes' if hashes > 1 else 'one hash'}, {unit}"
            curve(axes, ratios, "o" + style, color=PALETTE[name], label=label)
    label = f"published, {figures.PUBLISHED_RATIO:.1f}"
    axes.axhline(figures.PUBLISHED_RATIO, color=PALETTE["vermilion"], linewidth=1, label=label)
    axes.set(xlabel="words copied into the spawned process", xscale="log", yscale="log")
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
        for of, colour, style in _DATA["ways"]:
            way = Way(**of)
            rates = ((cost, ratio.median) for cost, ratio in figures.by_cost(found, many, way))
            form = {"markersize": 4, "color": PALETTE[colour], "label": way.name}
            curve(axes, rates, "o" + style, **form)
        axes.axhline(1, color=PALETTE["grey"], linewidth=1, label=INLINE.name)
        located = figures.crossover_us(found, many, MINIMAL)
        if many > 1 and located and isfinite(located.median):
            axes.axvline(located.median, color=PALETTE["blue"], linewidth=0.8, linestyle=":")
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
        axes.set(yscale="log", xlabel="cost of an answer, us")
        axes.set_title(f"{many} caller{'s' if many > 1 else ''}", loc="left")
    figure.axes[0].set_ylabel("requests a second\nover those of answering inline")
    legend_below(figure, columns=4)
    return True


PICTURES = [
    Picture(name=name, plot=plot, **_DATA[name])
    for name, plot in (("published", _published), ("crossover", _crossover))
]
