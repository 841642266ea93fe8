"""A placed graph as text: SVG, DOT, or braille dots for a terminal."""

from collections.abc import Iterable, Sequence
from html import escape

from partisan_operator.cli.access import ordinal
from partisan_operator.cli.layout import Positions

Links = Iterable[tuple[str, str]]

SIDE = 800
"""Width and height of the SVG's drawing, in its units."""

_MARGIN = 40
_LABELLED = 64
_BLUE, _VERMILION, _GREY = "#0072B2", "#D55E00", "#999999"

COLUMNS, LINES = 72, 20
"""Size of the terminal's picture, in characters."""

# The bit of each of the two by four dots of a braille character, by column and row.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def dot(name: str, nodes: Sequence[str], links: Links) -> str:
    """Return the graph in Graphviz's language."""
    lines = [f'graph "{name}" {{', "  node [shape=circle, fontsize=10];"]
    lines += [f'  "{node}";' for node in nodes]
    lines += [f'  "{left}" -- "{right}";' for left, right in sorted(links)]
    return "\n".join([*lines, "}"])


def svg(title: str, positions: Positions, links: Links) -> str:
    """Return the graph as an SVG document; a node without links is vermilion."""
    spots = {
        node: (_MARGIN + x * (SIDE - 2 * _MARGIN), _MARGIN + y * (SIDE - 2 * _MARGIN))
        for node, (x, y) in positions.items()
    }
    pairs = sorted(links)
    linked = {node for pair in pairs for node in pair}
    radius = 9 if len(spots) <= _LABELLED else 4
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -30 {SIDE} {SIDE + 30}"'
        ' font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f'<rect y="-30" width="{SIDE}" height="{SIDE + 30}" fill="white"/>',
        f'<text x="{_MARGIN}" y="-8" font-size="15">{escape(title)}</text>',
        f'<g stroke="{_GREY}" stroke-width="1">',
    ]
    for left, right in pairs:
        (x1, y1), (x2, y2) = spots[left], spots[right]
        lines.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    lines.append("</g>")
    for node, (x, y) in spots.items():
        colour = _BLUE if node in linked else _VERMILION
        lines.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}">'
            f"<title>{escape(node)}</title></circle>"
        )
        if len(spots) <= _LABELLED:
            lines.append(
                f'<text x="{x:.1f}" y="{y + 22:.1f}" text-anchor="middle">{escape(node)}</text>'
            )
    return "\n".join([*lines, "</svg>"])


def braille(positions: Positions, links: Links) -> str:
    """Return the graph as lines of braille dots; a node is the ordinal in its name."""
    width, height = 2 * COLUMNS - 1, 4 * LINES - 1
    cells = [[0] * COLUMNS for _ in range(LINES)]
    spots = {node: (x * width, y * height) for node, (x, y) in positions.items()}
    for left, right in links:
        (x1, y1), (x2, y2) = spots[left], spots[right]
        steps = max(1, round(max(abs(x2 - x1), abs(y2 - y1))))
        for step in range(steps + 1):
            column = round(x1 + (x2 - x1) * step / steps)
            line = round(y1 + (y2 - y1) * step / steps)
            cells[line // 4][column // 2] |= _DOTS[column % 2][line % 4]
    canvas = [[chr(0x2800 + bits) if bits else " " for bits in row] for row in cells]
    for node, (x, y) in spots.items():
        label = str(ordinal(node))
        column = min(round(x) // 2, COLUMNS - len(label))
        canvas[round(y) // 4][column : column + len(label)] = label
    return "\n".join("".join(row).rstrip() for row in canvas)
