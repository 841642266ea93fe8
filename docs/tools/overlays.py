"""Draws docs/pictures/overlay-*.svg, light and dark: one overlay and one message each.

    python -m docs.tools.overlays [GRAPHS]

GRAPHS is a file of what `erlang_node/scripts/overlays.escript` writes; without it the script runs,
which simulates the overlays. The links of Static are those that the operator makes of a pattern.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from partisan_operator.children.overlay import edges
from partisan_operator.models.overlay import Static

from scale_tests.host.commands import ROOT, capture, relative

PICTURES = ROOT / "docs/pictures"
SCRIPT = ROOT / "erlang_node/scripts/overlays.escript"

WIDTH, HEIGHT, TOP = 420, 330, 62
ZONES = 3

COLOURS = {
    "light": {"text": "#1f2328", "soft": "#59636e", "node": "#0969da", "special": "#bc4c00"},
    "dark": {"text": "#f0f6fc", "soft": "#9198a1", "node": "#4493f8", "special": "#f0883e"},
}

Point = tuple[float, float]
Link = tuple[int, int]


@dataclass
class Graph:
    """An overlay's nodes, by number from 1, and the links between them, each once."""

    plane: dict[int, Point] = field(default_factory=dict)
    """Where the nodes are, as far as latency is concerned; coordinates from 0 to 1."""

    links: set[Link] = field(default_factory=set)

    @property
    def degrees(self) -> list[int]:
        """The number of links of each node, in ascending order."""
        ends = Counter(end for link in self.links for end in link)
        return sorted(ends[node] for node in self.plane)

    @property
    def mean_length(self) -> float:
        """Mean distance of two linked nodes on the plane."""
        lengths = [math.dist(self.plane[a], self.plane[b]) for a, b in self.links]
        return sum(lengths) / len(lengths)


@dataclass(frozen=True)
class Drawing:
    """A picture: what it says, where the nodes are, and which of them are special."""

    title: str
    message: str
    places: Mapping[int, Point]
    """From 0 to 1 in both directions."""

    links: Iterable[Link]
    special: Mapping[int, str] = field(default_factory=dict)
    """Labels of the nodes with a role."""

    marked: Iterable[Link] = ()
    """Links in the colour of special nodes."""


def read(text: str) -> dict[str, Graph]:
    """The graphs of the script's lines, by the overlay's name."""
    graphs: dict[str, Graph] = {}
    for name, what, *rest in map(str.split, text.splitlines()):
        graph = graphs.setdefault(name, Graph())
        if what == "node":
            graph.plane[int(rest[0])] = (float(rest[1]), float(rest[2]))
        else:
            low, high = sorted(map(int, rest))
            graph.links.add((low, high))
    return graphs


def circle(
    nodes: Iterable[int], centre: Point = (0.5, 0.5), radius: float = 0.5
) -> dict[int, Point]:
    """The nodes on a circle, the first at the top."""
    numbers = list(nodes)
    turns = {node: 2 * math.pi * index / len(numbers) for index, node in enumerate(numbers)}
    return {
        node: (centre[0] + radius * math.sin(turn), centre[1] - radius * math.cos(turn))
        for node, turn in turns.items()
    }


def around_hubs(graph: Graph, hubs: int) -> dict[int, Point]:
    """Hubs in the middle, the other nodes on a circle."""
    # Clockwise from the top, those of the rightmost hub first.
    others = sorted(
        (node for node in graph.plane if node > hubs),
        key=lambda node: (-min(hub for hub, end in graph.links if end == node), node),
    )
    middle = {hub: (0.5 + 0.14 * (2 * hub - hubs - 1), 0.5) for hub in range(1, hubs + 1)}
    return circle(others) | middle


def drawings(graphs: Mapping[str, Graph]) -> dict[str, Drawing]:
    """The picture of each overlay, by the end of its file's name."""

    def on_circle(title: str, graph: Graph, message: str) -> Drawing:
        return Drawing(title, message, circle(sorted(graph.plane)), graph.links)

    mesh, star, brokers = (graphs[n] for n in ("full_mesh", "client_server", "publish_subscribe"))
    hyparview, xbot, zones = (graphs[name] for name in ("hyparview", "xbot", "hiscamp"))
    cyclon, first, second = (graphs[name] for name in ("cyclon", "scamp_v1", "scamp_v2"))
    count = len(hyparview.plane)
    share = round(100 * xbot.mean_length / hyparview.mean_length)
    return {
        "full-mesh": on_circle(
            "FullMesh", mesh, f"{len(mesh.plane)} nodes already have {len(mesh.links)} links"
        ),
        "client-server": Drawing(
            "ClientServer",
            "a client has one link, to its server",
            around_hubs(star, 2),
            star.links,
            {1: "server", 2: "server"},
        ),
        "publish-subscribe": Drawing(
            "PublishSubscribe",
            "every node is linked to all brokers, and to nothing else",
            around_hubs(brokers, 2),
            brokers.links,
            {1: "broker", 2: "broker"},
        ),
        "static": static(),
        "hyparview": Drawing(
            "HyParView",
            f"{count} nodes with {_range(hyparview)} links each, anywhere on the plane",
            hyparview.plane,
            hyparview.links,
        ),
        "xbot": Drawing(
            "XBot", f"the same nodes, with links {share} % as long", xbot.plane, xbot.links
        ),
        "cyclon": on_circle(
            "Cyclon",
            cyclon,
            f"{len(cyclon.plane)} nodes, each with 3 others in its view, which change",
        ),
        "scamp-v1": on_circle(
            "ScampV1", first, f"views of different sizes: {_range(first)} links for each node"
        ),
        "scamp-v2": on_circle(
            "ScampV2", second, f"the same with leases: {_range(second)} links for each node"
        ),
        "hiscamp": in_zones(zones),
    }


def static() -> Drawing:
    """The two patterns next to each other: a ring of eight, a tree of seven."""
    ring, tree = (
        edges(Static.model_validate({"pattern": p}), n) for p, n in (("Ring", 8), ("Tree", 7))
    )
    places = circle(range(8), (0.2, 0.5), 0.2)
    for ordinal in range(7):
        depth = int(math.log2(ordinal + 1))
        across = (ordinal + 1 - 2**depth + 0.5) / 2**depth
        places[8 + ordinal] = (0.56 + 0.44 * across, 0.2 + 0.3 * depth)
    links = [*ring, *((8 + a, 8 + b) for a, b in tree)]
    return Drawing("Static", "the links of the spec and no others: Ring, Tree", places, links)


def in_zones(graph: Graph) -> Drawing:
    """Zones as circles; nodes with links between zones are special."""
    zone = {node: node % ZONES for node in graph.plane}
    places: dict[int, Point] = {}
    for number, centre in enumerate([(0.18, 0.68), (0.5, 0.2), (0.82, 0.68)]):
        places |= circle((n for n in sorted(zone) if zone[n] == number), centre, 0.19)
    between = [link for link in graph.links if zone[link[0]] != zone[link[1]]]
    return Drawing(
        "HiScamp",
        f"{len(between)} of {len(graph.links)} links lead from one zone to another",
        places,
        graph.links,
        {end: "" for link in between for end in link},
        between,
    )


def _range(graph: Graph) -> str:
    least, *_, most = graph.degrees
    return f"{least} to {most}"


def svg(drawing: Drawing, colours: Mapping[str, str]) -> str:
    """The picture as an SVG document."""
    margin = 24
    text, soft, special_colour = colours["text"], colours["soft"], colours["special"]
    side = HEIGHT - TOP - 2 * margin
    spots = {
        node: (margin + x * (WIDTH - 2 * margin), TOP + margin + y * side)
        for node, (x, y) in drawing.places.items()
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{escape(f'{drawing.title}: {drawing.message}')}</title>",
        f'<text x="{margin}" y="24" font-weight="600" fill="{text}">{drawing.title}</text>',
        f'<text x="{margin}" y="44" fill="{soft}">{escape(drawing.message)}</text>',
    ]
    marked = set(drawing.marked)
    for chosen, stroke in (
        (sorted(set(drawing.links) - marked), colours["node"]),
        (sorted(marked), special_colour),
    ):
        path = "".join(f"M{_point(spots[a])}L{_point(spots[b])}" for a, b in chosen)
        lines += [f'<path d="{path}" stroke="{stroke}" stroke-width="1.2" opacity=".55"/>'] * bool(
            chosen
        )
    for node, spot in spots.items():
        colour = colours["special" if node in drawing.special else "node"]
        x, y = _point(spot).split()
        lines.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>')
        if label := drawing.special.get(node):
            lines.append(
                f'<text x="{x}" y="{float(y) + 20:g}" text-anchor="middle" font-size="12"'
                f' fill="{special_colour}">{label}</text>'
            )
    return "\n".join([*lines, "</svg>", ""])


def _point(spot: Point) -> str:
    return f"{spot[0]:.1f} {spot[1]:.1f}"


def main(arguments: list[str]) -> None:
    """Writes all pictures."""
    text = Path(arguments[0]).read_text() if arguments else capture(["escript", str(SCRIPT)])
    for name, drawing in drawings(read(text)).items():
        for scheme, colours in COLOURS.items():
            picture = PICTURES / f"overlay-{name}-{scheme}.svg"
            picture.write_text(svg(drawing, colours))
            print(relative(picture))


if __name__ == "__main__":
    main(sys.argv[1:])
