"""The graph that views form."""

from scale_tests.cluster.views import components, links, one_sided


def views(**lists: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(text.split()) for name, text in lists.items()}


def test_a_link_counts_whichever_end_lists_it() -> None:
    seen = views(a="b", b="", c="b")
    assert components(seen) == [frozenset("abc")]
    assert one_sided(seen) == {("a", "b"), ("c", "b")}
    assert links(seen) == 2


def test_components_are_largest_first() -> None:
    seen = views(a="b", b="a", c="d e", d="c", e="c", f="")
    assert components(seen) == [frozenset("cde"), frozenset("ab"), frozenset("f")]
    assert one_sided(seen) == set()


def test_a_link_to_an_unknown_node_joins_nothing() -> None:
    seen = views(a="gone", b="gone")
    assert len(components(seen)) == 2
    assert one_sided(seen) == {("a", "gone"), ("b", "gone")}


def test_no_nodes() -> None:
    assert components({}) == []
    assert links({}) == 0
