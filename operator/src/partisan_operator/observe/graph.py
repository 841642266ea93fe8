"""The overlay as a graph: nodes, and a link wherever either end reports the other as active.

A link that only one end reports counts: views are read at slightly different times, and a
connection carries messages both ways.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class OverlayGraph:
    """Figures of the graph."""

    nodes: int
    links: int
    components: int
    isolated: int

    @property
    def mean_degree(self) -> float:
        """Mean number of links of a node."""
        return 2 * self.links / self.nodes if self.nodes else 0.0


def links_of(views: Mapping[str, Iterable[str]]) -> frozenset[tuple[str, str]]:
    """Return the links that the active views of the nodes make, each once, its ends in order.

    Names without a view of their own are left out: they did not answer, and a view may name nodes
    that are gone or never existed.
    """
    return frozenset(
        (min(node, peer), max(node, peer))
        for node, peers in views.items()
        for peer in peers
        if peer != node and peer in views
    )


def components(views: Mapping[str, Iterable[str]]) -> tuple[frozenset[str], ...]:
    """Return the components of the graph that the active views make: see `links_of`.

    >>> sorted(map(sorted, components({"a": ["b"], "b": [], "c": ["gone"]})))
    [['a', 'b'], ['c']]
    """
    return _components(views, links_of(views))


def analyse(views: Mapping[str, Iterable[str]]) -> OverlayGraph:
    """Return the figures of the graph that the active views of the nodes make: see `links_of`."""
    links = links_of(views)
    linked = {node for link in links for node in link}
    return OverlayGraph(
        nodes=len(views),
        links=len(links),
        components=len(_components(views, links)),
        isolated=len(views) - len(linked),
    )


def _components(
    nodes: Iterable[str], links: Iterable[tuple[str, str]]
) -> tuple[frozenset[str], ...]:
    parent = {node: node for node in nodes}

    def root(node: str) -> str:
        while parent[node] != node:
            parent[node] = parent[parent[node]]  # halve the path for the next search
            node = parent[node]
        return node

    for left, right in links:
        parent[root(left)] = root(right)
    members: dict[str, list[str]] = {}
    for node in parent:
        members.setdefault(root(node), []).append(node)
    return tuple(frozenset(group) for group in members.values())
