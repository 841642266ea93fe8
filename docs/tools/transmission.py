"""Draws docs/pictures/transmission-*.svg, light and dark, from the published measurements.

`python -m docs.tools.transmission` writes; a test compares.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from scale_tests.host.commands import ROOT

PICTURES = ROOT / "docs/pictures"
RESULTS = ("docs/results/scale/scale.json", "docs/results/thousand/scale.json")

OVERLAY = "HyParView"
WAYS = ("State", "Delta", "Tree", "Aggregate")
SIZES = (32, 64, 128, 256, 512, 1024)
TICKS = (0.5, 5, 50, 500, 5000, 50000)
"""Of the vertical axis, MiB."""

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 70, 120, 70, 46

COLOURS = {
    "light": {
        "text": "#1f2328", "soft": "#59636e", "grid": "#d1d9e0",
        "State": "#bc4c00", "Delta": "#0969da", "Tree": "#1a7f37", "Aggregate": "#8250df",
    },
    "dark": {
        "text": "#f0f6fc", "soft": "#9198a1", "grid": "#3d444d",
        "State": "#f0883e", "Delta": "#4493f8", "Tree": "#3fb950", "Aggregate": "#ab7df8",
    },
}  # fmt: skip


@dataclass
class Series:
    """MiB of all nodes together, by the number of nodes."""

    real: dict[int, float] = field(default_factory=dict)
    simulated: dict[int, float] = field(default_factory=dict)

    def points(self) -> list[tuple[int, float, bool]]:
        """Nodes, MiB, and whether they are real: simulated ones where none were measured."""
        merged = {**self.simulated, **self.real}
        return [(n, mib, n in self.real) for n, mib in sorted(merged.items()) if n in SIZES]


def series(cells: Iterable[Mapping[str, Any]]) -> dict[str, Series]:
    """The means of each way of synchronisation."""
    found: dict[tuple[str, bool, int], list[float]] = defaultdict(list)
    for cell in cells:
        if cell["overlay"] == OVERLAY and cell["converged"]:
            key = cell["synchronization"], cell["simulated"], cell["nodes"]
            found[key].append(cell["bytes_payload"] / 2**20)
    ways = {way: Series() for way in WAYS}
    for (way, simulated, nodes), values in found.items():
        (ways[way].simulated if simulated else ways[way].real)[nodes] = mean(values)
    return ways


def published() -> dict[str, Series]:
    """The series of the pages of results."""
    documents = (json.loads((ROOT / path).read_text()) for path in RESULTS)
    return series([cell for document in documents for cell in document["cells"]])


def svg(ways: Mapping[str, Series], colours: Mapping[str, str]) -> str:
    """The picture as an SVG document: both axes logarithmic, each line with its name."""
    text, soft, grid = colours["text"], colours["soft"], colours["grid"]
    title = "Sending what has changed takes a fraction of sending everything"
    about = "payload of all nodes, MiB, 180 increments each, HyParView"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{title}: {about}</title>",
        f'<text x="10" y="24" font-weight="600" fill="{text}">{title}</text>',
        f'<text x="10" y="44" fill="{soft}">{about}; filled: real nodes, hollow: simulated</text>',
    ]
    for tick in TICKS:
        y = _y(tick)
        lines.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{grid}"/>')
        lines.append(
            f'<text x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end" fill="{soft}">{tick:,}</text>'
        )
    for nodes in SIZES:
        lines.append(
            f'<text x="{_x(nodes)}" y="{HEIGHT - BOTTOM + 22}" text-anchor="middle"'
            f' fill="{soft}">{nodes:,}</text>'
        )
    lines.append(f'<text x="{WIDTH - RIGHT + 12}" y="{HEIGHT - 24}" fill="{soft}">nodes</text>')
    for way, line in ways.items():
        lines += _line(way, line, colours[way])
    return "\n".join([*lines, "</svg>", ""])


def _line(way: str, line: Series, colour: str) -> Iterator[str]:
    points = line.points()
    for (left, low, _), (right, high, real) in pairwise(points):
        dashes = "" if real else ' stroke-dasharray="5 4"'
        yield (
            f'<path d="M{_x(left)} {_y(low)}L{_x(right)} {_y(high)}" stroke="{colour}"'
            f' stroke-width="2"{dashes}/>'
        )
    for nodes, mib, real in points:
        fill = f'fill="{colour}"' if real else f'fill="none" stroke="{colour}" stroke-width="2"'
        yield f'<circle cx="{_x(nodes)}" cy="{_y(mib)}" r="4.5" {fill}/>'
    nodes, mib, _ = points[-1]
    amount = f"{mib:,.0f}"
    yield (
        f'<text x="{_x(nodes) + 12:g}" y="{_y(mib) + 4:g}" fill="{colour}">{way}, {amount}</text>'
    )


def _x(nodes: float) -> float:
    share = math.log(nodes / SIZES[0]) / math.log(SIZES[-1] / SIZES[0])
    return round(LEFT + 14 + share * (WIDTH - LEFT - RIGHT - 28), 1)


def _y(mib: float) -> float:
    share = math.log(mib / TICKS[0]) / math.log(TICKS[-1] / TICKS[0])
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def picture(colours: str) -> Path:
    """The file of the picture in these colours."""
    return PICTURES / f"transmission-{colours}.svg"


if __name__ == "__main__":
    for name, chosen in COLOURS.items():
        picture(name).write_text(svg(published(), chosen))
