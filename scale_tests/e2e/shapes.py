"""The shapes that an overlay may have, recognized from the nodes' neighbours."""

from collections.abc import Iterable

from scale_tests.cluster.nodes import NodeStatus

Views = dict[str, set[str]]
"""Of each node, its neighbours."""


def views_of(nodes: Iterable[NodeStatus]) -> Views:
    """The neighbours that these nodes report."""
    return {node.name: set(node.active) for node in nodes}


def is_mesh(views: Views) -> bool:
    """Every node is a neighbour of every other."""
    return all(view == views.keys() - {node} for node, view in views.items())


def is_star(views: Views) -> bool:
    """The first node is the only neighbour of every other."""
    (server,) = (node for node in views if node.endswith("-0"))
    return all(view == {server} for node, view in views.items() if node != server)


def is_brokered(views: Views) -> bool:
    """The first two nodes are the only neighbours of every other, and each other's."""
    brokers = {node for node in views if node.endswith(("-0", "-1"))}
    return all(view >= brokers - {node} for node, view in views.items()) and all(
        view == brokers for node, view in views.items() if node not in brokers
    )


def is_ring(views: Views) -> bool:
    """Every node has the nodes before and after it as neighbours, and no other."""
    names = sorted(views, key=lambda name: int(name.rpartition("-")[2]))
    return all(
        views[name] == {names[index - 1], names[(index + 1) % len(names)]}
        for index, name in enumerate(names)
    )


def is_partial(views: Views) -> bool:
    """Not every view is full; how full views are is chance."""
    return any(view < views.keys() - {node} for node, view in views.items())


def is_inhabited(views: Views) -> bool:
    """Every node has a neighbour.

    SCAMP's views have no bound: on a busy machine, nodes that received nothing for a while
    subscribe again, and may end with full views.
    """
    return all(views.values())
