"""The overlay's graph."""

from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.observe.graph import OverlayGraph, analyse

views = st.dictionaries(
    st.integers(0, 12).map(str), st.lists(st.integers(0, 15).map(str), max_size=4), max_size=13
)


def test_a_link_of_one_end_is_a_link_and_unknown_names_do_not_count() -> None:
    found = analyse({"a": ["b", "a"], "b": [], "c": ["unknown"], "d": ["e"], "e": ["d"]})
    assert found == OverlayGraph(nodes=5, links=2, components=3, isolated=1)
    assert found.mean_degree == 0.8


def test_nothing_has_no_components() -> None:
    assert analyse({}) == OverlayGraph(nodes=0, links=0, components=0, isolated=0)
    assert analyse({}).mean_degree == 0.0


@given(views)
def test_components_are_those_of_a_plain_walk(graph: dict[str, list[str]]) -> None:
    neighbours = {
        node: {
            peer for peer in graph if peer != node and (peer in graph[node] or node in graph[peer])
        }
        for node in graph
    }
    unseen, components = set(graph), 0
    while unseen:
        components += 1
        frontier = {unseen.pop()}
        while frontier:
            frontier = {peer for node in frontier for peer in neighbours[node]} & unseen
            unseen -= frontier
    found = analyse(graph)
    assert found.components == components
    assert found.isolated == sum(not peers for peers in neighbours.values())
    assert found.links == sum(map(len, neighbours.values())) / 2
