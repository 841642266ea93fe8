"""The drawings of overlays."""

import re

import pytest

from docs.tools.overlays import COLOURS, Drawing, Graph, around_hubs, drawings, in_zones, read, svg
from scale_tests.host.commands import ROOT

KINDS = (
    *("full_mesh", "client_server", "publish_subscribe", "hyparview", "xbot", "cyclon"),
    *("scamp_v1", "scamp_v2", "hiscamp"),
)


def test_each_link_is_read_once() -> None:
    text = "xbot node 1 0.1 0.2\nxbot node 2 0.1 0.7\nxbot link 1 2\nxbot link 2 1\n"
    (graph,) = read(text).values()
    assert graph == Graph({1: (0.1, 0.2), 2: (0.1, 0.7)}, {(1, 2)})
    assert graph.degrees == [1, 1]
    assert graph.mean_length == pytest.approx(0.5)


def test_clients_are_near_their_hub() -> None:
    plane = dict.fromkeys(range(1, 7), (0.0, 0.0))
    links = {(1, 2), (1, 3), (2, 4), (1, 5), (2, 6)}
    places = around_hubs(Graph(plane, links), 2)
    assert places[1][0] < 0.5 < places[2][0]
    assert all(places[client][1] != 0.5 for client in (3, 4, 5, 6))
    assert [node for node in places if node > 2] == [4, 6, 3, 5]


def test_links_between_zones_are_marked() -> None:
    plane = dict.fromkeys(range(1, 7), (0.0, 0.0))
    drawing = in_zones(Graph(plane, {(1, 4), (2, 5), (3, 6), (1, 2)}))
    assert drawing.marked == [(1, 2)]
    assert drawing.special.keys() == {1, 2}
    assert drawing.message.startswith("1 of 4 links")


def test_a_picture_has_its_message_nodes_links_and_labels() -> None:
    drawing = Drawing("A", "b & c", {1: (0, 0), 2: (1, 1)}, [(1, 2)], {2: "hub"})
    picture = svg(drawing, COLOURS["light"])
    assert "<title>A: b &amp; c</title>" in picture
    assert picture.count("<circle") == 2
    assert re.findall(r'd="([^"]+)"', picture) == ["M24.0 86.0L396.0 306.0"]
    assert f'fill="{COLOURS["light"]["special"]}">hub</text>' in picture


def test_there_is_a_picture_of_every_overlay() -> None:
    nodes = "".join(f"{k} node {n} 0.{n} 0.{n * n % 7}\n" for k in KINDS for n in range(1, 8))
    links = "".join(
        f"{k} link {n} {1 + n % 7}\n{k} link 1 {n + 1}\n" for k in KINDS for n in range(1, 7)
    )
    names = drawings(read(nodes + links)).keys()
    assert len(names) == len(KINDS) + 1
    for name in names:
        assert (ROOT / f"docs/pictures/overlay-{name}-light.svg").exists()
