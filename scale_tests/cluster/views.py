"""The graph that the views of many nodes form."""

from collections.abc import Mapping

Views = Mapping[str, frozenset[str]]
"""The active view of each node that answered, by name."""


def components(views: Views) -> list[frozenset[str]]:
    """The connected components, largest first; a link counts whichever end lists it.

    Names without a view of their own are left out.
    """
    neighbours: dict[str, set[str]] = {name: set() for name in views}
    for name, view in views.items():
        for other in view & views.keys():
            neighbours[name].add(other)
            neighbours[other].add(name)
    found, left = [], set(views)
    while left:
        component, frontier = set[str](), {left.pop()}
        while frontier:
            component |= frontier
            frontier = set[str]().union(*(neighbours[name] for name in frontier)) - component
        left -= component
        found.append(frozenset(component))
    return sorted(found, key=lambda names: (-len(names), min(names)))


def one_sided(views: Views) -> set[tuple[str, str]]:
    """The links (a, b) that a lists and b does not, or that lead to no known node."""
    return {
        (name, other)
        for name, view in views.items()
        for other in view
        if name not in views.get(other, frozenset())
    }


def links(views: Views) -> int:
    """The number of linked pairs of nodes, from either side."""
    return len({frozenset((name, other)) for name, view in views.items() for other in view})
