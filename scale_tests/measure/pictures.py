"""The style that all pictures share, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#666666"

CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
"""Of lines that have no colour of their own, in their order."""

COLOURS = {"State": VERMILION, "Delta": BLUE, "Tree": GREEN, "Aggregate": PURPLE}
"""Of the ways to synchronise."""

HOLLOW: Any = {"marker": "o", "markersize": 8, "markerfacecolor": "none"}
"""The marks of figures that were not measured: published or simulated."""

STYLE: Any = {
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "partisan",
    "svg.fonttype": "none",
}
"""matplotlib's parameters, in force while a figure is made and saved."""


def save(figure: Figure, directory: Path, name: str) -> list[Path]:
    """Saves a figure as SVG, which is the same each time, and PNG; returns both files."""
    directory.mkdir(parents=True, exist_ok=True)
    svg, png = directory / f"{name}.svg", directory / f"{name}.png"
    figure.savefig(svg, metadata={"Date": None})
    figure.savefig(png, dpi=150)
    return [svg, png]
