"""The shapes that an overlay may have, told from who is whose neighbour."""

from __future__ import annotations

from collections.abc import Iterable

from scale_tests.cluster.nodes import NodeStatus

Views = dict[str, set[str]]
"""Of each node, its neighbours."""


def views_of(nodes: Iterable[NodeStatus]) -> Views:
    """What these nodes say."""
    return {node.name: set(node.active) for node in nodes}


def is_mesh(views: Views) -> bool:
    """Everybody is everybody's neighbour."""
    return all(view == views.keys() - {node} for node, view in views.items())


def is_star(views: Views) -> bool:
    """The first node is everybody's only neighbour."""
    (server,) = (node for node in views if node.endswith("-0"))
    return all(view == {server} for node, view in views.items() if node != server)


def is_ring(views: Views) -> bool:
    """Everybody has the nodes before and after as neighbours, and no other."""
    names = sorted(views, key=lambda name: int(name.rpartition("-")[2]))
    return all(
        views[name] == {names[index - 1], names[(index + 1) % len(names)]}
        for index, name in enumerate(names)
    )


def is_partial(views: Views) -> bool:
    """Somebody leaves somebody out; how full views are is chance."""
    return any(view < views.keys() - {node} for node, view in views.items())


def is_inhabited(views: Views) -> bool:
    """Everybody has a neighbour.

    SCAMP's views have no bound: nodes that had no word of others for a while, on a machine that is
    short of time, subscribe anew, and may end with all of them.
    """
    return all(views.values())
