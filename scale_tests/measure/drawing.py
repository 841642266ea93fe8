"""The one loop that draws pictures: style, title and note, legend, file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scale_tests.measure import page
from scale_tests.measure.pictures import GREY, STYLE, save

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
