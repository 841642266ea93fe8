"""Predicted against measured, for each figure with a target."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

from scale_tests.benches.prediction.compare import HELD, MOST_PERCENT, UNITS, Comparison
from scale_tests.measure import drawing, page
from scale_tests.measure.drawing import COLOURS, GREY, Picture, panels


def draw(comparisons: Sequence[Comparison], directory: Path, caption: str) -> list[page.Picture]:
    """One picture with a panel for each figure."""

    def plot(figure: Drawing, material: Sequence[Comparison]) -> None:
        for axes, name in zip(panels(figure, len(HELD)), HELD, strict=True):
            _panel(axes, name, material)

    title = f"Predicted (simulated) against measured; grey: within {MOST_PERCENT:g} %"
    size = (3.2 * len(HELD), 3.6)
    picture = Picture(name="predicted", title=title, plot=plot, caption=caption, size=size)
    return drawing.draw([picture], comparisons, directory)


def _panel(axes: Axes, name: str, comparisons: Sequence[Comparison]) -> None:
    unit, scale, _decimals = UNITS[comparisons[0].figures[name].unit]
    points: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for each in comparisons:
        figure = each.figures[name]
        if figure.measured and figure.predicted and min(figure.measured, figure.predicted) > 0:
            own = points.setdefault((each.cell.synchronization, each.is_held), [])
            own.append((figure.measured / scale, figure.predicted / scale))
    axes.set_title(name, loc="left", fontsize=10)
    axes.set_ylabel("predicted")
    if not points:
        axes.set_xlabel("not measured")
        return
    axes.set(xlabel=f"measured, {unit}", xscale="log", yscale="log")
    values = [value for own in points.values() for point in own for value in point]
    # Over many decades there is room for the powers of ten alone.
    subs = (1, 2, 5) if max(values) < 30 * min(values) else (1,)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FormatStrFormatter("%g"))
        axis.set_minor_locator(NullLocator())
    ends = [min(values) / 1.5, max(values) * 1.5]
    low, high = ([end * (1 + off / 100) for end in ends] for off in (-MOST_PERCENT, MOST_PERCENT))
    axes.fill_between(ends, low, high, color=GREY, alpha=0.2, linewidth=0)
    for (mode, is_held), own in points.items():
        # Hollow, as everything that is simulated; a cross where the machine did not keep up.
        axes.plot(
            *zip(*own, strict=True),
            linestyle="none",
            marker="o" if is_held else "x",
            markerfacecolor="none",
            color=COLOURS.get(mode, GREY),
            label=mode if is_held else f"{mode}, machine too slow",
        )
    axes.legend(fontsize=8)
