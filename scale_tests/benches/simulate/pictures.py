"""The pictures of a run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
from matplotlib.figure import Figure

from scale_tests.benches.simulate.drawing import Figures
from scale_tests.benches.simulate.plots import broadcasts, growth, overlays, replicas
from scale_tests.measure.figure import Cell
from scale_tests.measure.pictures import STYLE, save

PICTURES = (
    *broadcasts.PICTURES,
    *overlays.PICTURES,
    *replicas.PICTURES,
    *growth.PICTURES,
)


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


def illustrate(figures: Figures, directory: Path) -> list[Path]:
    """Draws what there are figures for as the documents have it, `simulated-NAME.svg`."""
    with TemporaryDirectory() as drawn:
        svgs = [file for file in draw(figures, Path(drawn)) if file.suffix == ".svg"]
        return [Path(shutil.copy(svg, directory / f"simulated-{svg.name}")) for svg in svgs]


def _largest(cells: Iterable[Cell]) -> list[Cell]:
    """Of each overlay what was measured in the largest cluster."""
    figures = list(cells)
    sizes = dict.fromkeys({c.overlay for c in figures}, 0)
    for cell in figures:
        sizes[cell.overlay] = max(sizes[cell.overlay], cell.nodes)
    return [c for c in figures if c.nodes == sizes[c.overlay]]
