"""The picture of the overlay: drawn, searched, followed by mouse and keyboard, and back in time."""

import asyncio
import io
import os
import re
from xml.etree import ElementTree

import pytest
from matplotlib.image import imread
from playwright.async_api import Locator, expect

from scale_tests.benches.console.tests.visit import SVG, Visit
from scale_tests.host.commands import ROOT
from scale_tests.measure.browser import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
DRAWN = "performance.getEntriesByName('overlay-drawn').length > 0"


async def drawn(visit: Visit) -> Locator:
    """Opens the picture; returns it when all nodes are drawn."""
    await visit.choose("overlay")
    await until(visit.page, DRAWN)
    return visit.page.get_by_role("application")


def account(visit: Visit) -> Locator:
    """The figures of the selected node."""
    return visit.page.get_by_role("complementary")


def sized(nodes: int, links: int) -> re.Pattern[str]:
    """The beginning of the name of a graph of this size."""
    return re.compile(f"^Graph of {nodes:,} nodes and {links:,} links")


async def find(visit: Visit, name: str) -> None:
    """Searches for a node."""
    await visit.page.get_by_label("Find").fill(name)
    await visit.page.get_by_label("Find").press("Enter")
    await expect(account(visit)).to_contain_text(name)


@pytest.mark.parametrize("recording", [1024], indirect=True)
async def test_a_thousand_nodes_are_drawn_and_a_change_is_shown(visit: Visit) -> None:
    graph = await drawn(visit)
    overlay = visit.recording.status.overlay
    assert overlay is not None
    await expect(graph).to_have_accessible_name(sized(1024, overlay.links))
    pixels = imread(io.BytesIO(await graph.screenshot()))[:, :, :3]
    painted = (abs(pixels - pixels[0, 0]).max(axis=2) > 0.1).sum()
    assert painted > 4 * 1024
    visit.recording.kill("ads-7", "ads-s1-250")
    visit.recording.report()
    await visit.shows("1,022 of 1,024 nodes joined")


@pytest.mark.parametrize("layout", ["force", "zones", "hubs", "circle"])
async def test_each_layout_shows_a_killed_node_and_another_overlay(
    visit: Visit, layout: str
) -> None:
    await drawn(visit)
    await visit.page.get_by_label("Layout").select_option(layout)
    visit.recording.kill("ads-3")
    visit.recording.report()
    await visit.shows("23 of 24 nodes joined")
    await find(visit, "ads-3")
    await expect(account(visit)).to_contain_text("absent")
    visit.recording.switch("Cyclon")
    for _ in range(12):
        visit.recording.step()
    await expect(account(visit)).to_contain_text("Cyclon")
    await expect(account(visit)).to_contain_text("joined")


async def test_a_node_has_its_account_by_mouse(visit: Visit) -> None:
    graph = await drawn(visit)
    # A layout that stays as it is.
    await visit.page.get_by_label("Layout").select_option("circle")
    await find(visit, "ads-7")
    await account(visit).get_by_role("button", name="Close").click()
    await expect(account(visit)).to_have_count(0)
    box = await graph.bounding_box()
    assert box is not None
    # What was searched for moves to the centre, and grows until it does.
    for _ in range(100):
        await visit.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        await visit.page.evaluate(FRAMES)
        if await account(visit).count():
            break
    await expect(account(visit)).to_contain_text("ads-7")
    neighbour = sorted(visit.recording.nodes["ads-7"].peers)[0]
    await account(visit).get_by_role("button", name=neighbour, exact=True).click()
    await expect(account(visit).get_by_role("heading", level=2)).to_have_text(neighbour)


async def test_a_node_has_its_account_by_keyboard(visit: Visit) -> None:
    graph = await drawn(visit)
    await graph.focus()
    await visit.page.keyboard.press("ArrowRight")
    first = await account(visit).get_by_role("heading", level=2).inner_text()
    assert first in visit.recording.nodes
    await expect(visit.view("overlay").get_by_role("status").first).to_contain_text(first)
    for key in ("ArrowLeft", "ArrowUp", "ArrowDown", "+", "-", "0"):
        await visit.page.keyboard.press(key)
        await expect(account(visit)).to_be_visible()
    await visit.page.keyboard.press("Escape")
    await expect(account(visit)).to_have_count(0)


async def test_the_slider_goes_back_to_the_links_of_then_and_says_when_history_began_anew(
    visit: Visit,
) -> None:
    graph = await drawn(visit)
    before = visit.recording.links
    await expect(graph).to_have_accessible_name(sized(24, before))
    visit.recording.kill("ads-3", "ads-4")
    visit.recording.report()
    await expect(graph).to_have_accessible_name(sized(24, visit.recording.links))
    await visit.page.get_by_role("button", name="Go back in time").click()
    slider = visit.page.get_by_role("slider", name="Change")
    await slider.focus()
    for change in reversed(range(int(await slider.input_value()))):
        await visit.page.keyboard.press("ArrowLeft")
        await expect(slider).to_have_value(str(change))
        await visit.page.evaluate(FRAMES)
        if sized(24, before).match(await graph.get_attribute("aria-label") or ""):
            break
    await expect(graph).to_have_accessible_name(sized(24, before))
    visit.site.hub.began(lambda _namespace, _name: None)
    visit.recording.step()
    await expect(visit.view("overlay")).to_contain_text("the history began anew")


@pytest.mark.parametrize("recording", [128], indirect=True)
async def test_the_picture_is_saved_as_a_file(visit: Visit) -> None:
    """With PUBLISH=1 it becomes the picture of docs/guides/console.md."""
    graph = await drawn(visit)
    for _ in range(4):
        visit.recording.step()
    visit.recording.kill("ads-7", "ads-64")
    visit.recording.step()
    await visit.shows("126 of 128 nodes joined")
    links = visit.recording.links
    await expect(graph).to_have_accessible_name(sized(128, links))
    text = await visit.save()
    while (later := await visit.save()) != text:
        # Until the nodes rest.
        text = later
        await asyncio.sleep(0.5)
    picture = ElementTree.fromstring(text)
    titles = [title.text or "" for title in picture.iter(f"{SVG}title")]
    assert f"128 nodes, {links} links" in titles[0]
    states = dict(title.split(": ") for title in titles[1:])
    assert states.keys() == visit.recording.nodes.keys()
    assert {name for name, state in states.items() if state != "joined"} == {"ads-7", "ads-64"}
    paths = [
        path.get("d") or "" for path in picture.iter(f"{SVG}path") if path.get("fill") == "none"
    ]
    assert sum(path.count("M") for path in paths) == links
    if os.environ.get("PUBLISH") == "1":
        (ROOT / "docs/pictures/live-overlay.svg").write_text(text)


@pytest.mark.parametrize("recording", [128], indirect=True)
async def test_the_page_of_a_partition_is_a_picture(visit: Visit) -> None:
    """With PUBLISH=1 it becomes the other picture of docs/guides/console.md."""
    await visit.page.set_viewport_size({"width": 1100, "height": 700})
    await visit.choose("overview")
    visit.recording.partition(16)
    visit.recording.step()
    await visit.shows("2 components")
    text = await visit.picture()
    shown = "".join(ElementTree.fromstring(text).itertext())
    assert "Partitioned" in shown
    if os.environ.get("PUBLISH") == "1":
        (ROOT / "docs/pictures/live-overview.svg").write_text(text)
