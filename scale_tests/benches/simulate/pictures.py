"""The pictures of a run."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from scale_tests.benches.simulate.drawing import Figures
from scale_tests.benches.simulate.plots import PLOTS, Plot
from scale_tests.measure import drawing, page
from scale_tests.measure.drawing import Picture


def draw(figures: Figures, directory: Path) -> list[page.Picture]:
    """Draws the plots with figures into `directory`, in files of the plots' names."""
    pictures = [_picture(plot, shown) for plot in PLOTS if (shown := _shown(plot, figures))]
    return drawing.draw(pictures, figures, directory)


def illustrate(figures: Figures, directory: Path) -> list[Path]:
    """Draws them as the documents have them, `simulated-NAME.svg`."""
    with TemporaryDirectory() as drawn:
        svgs = [picture.file for picture in draw(figures, Path(drawn))]
        return [Path(shutil.copy(svg, directory / f"simulated-{svg.name}")) for svg in svgs]


def _picture(plot: Plot, shown: Figures) -> Picture[Figures]:
    sizes = [f"{size:,}" for size in sorted({c.nodes for c in shown})]
    nodes = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 2 else " and ".join(sizes)
    return Picture(
        name=plot.name,
        title=f"Simulated: {plot.title} ({nodes} nodes)",
        plot=lambda figure, _figures: plot.draw(figure, shown),
    )


def _shown(plot: Plot, figures: Figures) -> Figures:
    """The cells of a plot; of each overlay those of the largest cluster, or of every size."""
    wanted = [
        c
        for c in figures
        if c.experiment.startswith(plot.experiment or plot.name)
        and (not plot.overlays or c.overlay in plot.overlays)
    ]
    if plot.every_size:
        return wanted
    largest: dict[str, int] = {}
    for cell in wanted:
        largest[cell.overlay] = max(cell.nodes, largest.get(cell.overlay, 0))
    return [c for c in wanted if c.nodes == largest[c.overlay]]
