"""Positions for drawing the nodes of a graph.

Fruchterman and Reingold, "Graph drawing by force-directed placement" (1991): links pull, near
nodes push, steps cool down. As in the paper's grid variant nodes push only those within two ideal
lengths, found by cells of that size, so that a thousand nodes take seconds. The start is a circle
and nothing is random: equal graphs give equal pictures.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

Positions = dict[str, tuple[float, float]]
"""Places in the unit square."""

_STEPS = 120


def place(nodes: Sequence[str], links: Iterable[tuple[str, str]]) -> Positions:
    """Return a place for each node; every end of a link must be one of the nodes."""
    pairs = sorted(links)
    # The area is one ideal length squared for each node.
    side = math.sqrt(max(1, len(nodes)))
    angle = 2 * math.pi / max(1, len(nodes))
    spots = {
        node: complex(math.cos(index * angle), math.sin(index * angle)) * side / 2
        for index, node in enumerate(nodes)
    }
    for step in range(_STEPS):
        temperature = side / 10 * (1 - step / _STEPS)
        forces = dict.fromkeys(nodes, 0j)
        for left, right in _near(spots):
            apart = spots[left] - spots[right]
            # Two nodes at one place are pushed along an axis: any direction works.
            push = apart / abs(apart) ** 2 if apart else 1 + 0j
            forces[left] += push
            forces[right] -= push
        for left, right in pairs:
            apart = spots[left] - spots[right]
            pull = apart * abs(apart)
            forces[left] -= pull
            forces[right] += pull
        for node, force in forces.items():
            # Unlinked components would drift apart: a weak force pulls them to the middle.
            force -= spots[node] / side
            if force:
                spots[node] += force / abs(force) * min(abs(force), temperature)
    return _fitted(spots)


def _near(spots: dict[str, complex]) -> Iterator[tuple[str, str]]:
    """Yield each pair of nodes within two ideal lengths of each other, once."""
    cells: dict[tuple[int, int], list[str]] = defaultdict(list)
    for node, spot in spots.items():
        cells[math.floor(spot.real / 2), math.floor(spot.imag / 2)].append(node)
    for (column, row), members in cells.items():
        for index, node in enumerate(members):
            yield from ((node, other) for other in members[index + 1 :])
        # Half of the neighbouring cells: the other half finds the pair from its side.
        for step in ((1, -1), (1, 0), (1, 1), (0, 1)):
            for other in cells.get((column + step[0], row + step[1]), ()):
                yield from (
                    (node, other) for node in members if abs(spots[node] - spots[other]) < 2
                )


def _fitted(spots: dict[str, complex]) -> Positions:
    """Return the places, moved and scaled equally in both directions, in the unit square."""
    if not spots:
        return {}
    left, right = min(s.real for s in spots.values()), max(s.real for s in spots.values())
    top, bottom = min(s.imag for s in spots.values()), max(s.imag for s in spots.values())
    extent = max(right - left, bottom - top) or 1.0
    middle = complex(left + right, top + bottom) / 2
    placed = {node: (spot - middle) / extent for node, spot in spots.items()}
    return {
        node: (_within(spot.real + 0.5), _within(spot.imag + 0.5)) for node, spot in placed.items()
    }


def _within(place: float) -> float:
    """Clamp a coordinate that rounding has moved outside of the square."""
    return min(1.0, max(0.0, place))
