"""The one loop that draws pictures: style, title and note, legend, file; and the palette."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scale_tests.host.documents import data_of
from scale_tests.measure import page
from scale_tests.measure.spread import Spread, error_bars

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#666666"

PALETTE = {
    **{"blue": BLUE, "orange": ORANGE, "green": GREEN, "vermilion": VERMILION},
    **{"purple": PURPLE, "sky": SKY, "grey": GREY},
}
"""The palette by the names that data have for its colours."""

CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
"""Of lines that have no colour of their own, in their order."""

COLOURS = {"State": VERMILION, "Delta": BLUE, "Tree": GREEN, "Aggregate": PURPLE}
"""Of the ways to synchronise."""

HOLLOW: Any = {"marker": "o", "markersize": 8, "markerfacecolor": "none"}
"""The marks of figures that were not measured: published or simulated."""

STYLE = mpl.rc_params_from_file(Path(__file__).with_suffix(".mplstyle"), use_default_template=False)
"""matplotlib's parameters, in force while a figure is made and saved."""

Material = TypeVar("Material")
"""The material that a benchmark draws: its cells, samples or rows."""

_NOTE_INCHES = 0.27
"""From the upper edge of a figure to the note, below a title of one line."""


@dataclass(frozen=True, kw_only=True)
class Picture(Generic[Material]):
    """A picture to be drawn; as drawn it is a `page.Picture`."""

    name: str
    """Of the file."""

    title: str
    plot: Callable[[Figure, Material], bool | None]
    """Draws into an empty figure; False where the material has nothing for this picture."""

    caption: str = ""
    size: tuple[float, float] = (8, 4.5)
    """Width and height in inches."""


def described(module: str, *plots: Callable[[Figure, Any], bool | None]) -> list[Picture[Any]]:
    """Pictures of these plots, described by the YAML next to a module in the same order.

    It has titles, captions and sizes by name; `module` is its `__file__`.
    """
    shown = zip(data_of(module).items(), plots, strict=True)
    return [Picture(name=name, plot=plot, **words) for (name, words), plot in shown]


def draw(
    pictures: Iterable[Picture[Material]], material: Material, directory: Path, *, note: str = ""
) -> list[page.Picture]:
    """Draws the pictures for which there is material, as SVG and PNG, into `directory`.

    `note`, of one line or several, stands under each title.
    """
    drawn = []
    for picture in pictures:
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=picture.size, layout="constrained")
            if picture.plot(figure, material) is False:
                continue
            room = "\n" * len(note.splitlines())
            figure.suptitle(picture.title + room, x=0.01, ha="left", fontweight="bold", fontsize=11)
            if note:
                top = 1 - _NOTE_INCHES / picture.size[1]
                figure.text(0.012, top, note, fontsize=7.5, color=GREY, va="top")
            svg, _png = save(figure, directory, picture.name)
        drawn.append(page.Picture(title=picture.title, file=svg, caption=picture.caption))
    return drawn


def panels(figure: Figure, count: int, *, share_y: bool = False) -> list[Axes]:
    """So many axes in a row."""
    return list(figure.subplots(1, count, sharey=share_y, squeeze=False)[0])


def curve(axes: Axes, points: Iterable[tuple[float, float]], *form: str, **style: Any) -> None:
    """A line through points, of which there may be none."""
    found = list(points)
    axes.plot([x for x, _ in found], [y for _, y in found], *form, **style)


def spreads(axes: Axes, points: Iterable[tuple[float, Spread]], **style: Any) -> None:
    """A line through medians, with the extremes around them unless each is of one value."""
    found = list(points)
    lengths = error_bars(spread for _, spread in found)
    around = lengths if any(map(any, lengths)) else None
    axes.errorbar([x for x, _ in found], [s.median for _, s in found], yerr=around, **style)


def legend_below(figure: Figure, *, columns: int = 3) -> None:
    """One legend below all panels of a figure, each name once; none where nothing has a name."""
    named = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if named:
        figure.legend(
            named.values(), named.keys(), loc="outside lower center", ncols=columns, fontsize=8
        )


def save(figure: Figure, directory: Path, name: str) -> list[Path]:
    """Saves a figure as SVG, which is the same each time, and PNG; returns both files."""
    directory.mkdir(parents=True, exist_ok=True)
    svg, png = directory / f"{name}.svg", directory / f"{name}.png"
    figure.savefig(svg, metadata={"Date": None})
    figure.savefig(png, dpi=150)
    return [svg, png]
