"""The page in a browser: its views, its stream, and what it refuses to do."""

import json
from copy import deepcopy
from pathlib import Path
from xml.etree import ElementTree

import pytest
from partisan_operator.console.history import Part
from partisan_operator.status.announcements import Announcement
from playwright.async_api import Locator, expect

from scale_tests.benches.console.tests.visit import SVG, Visit
from scale_tests.host.commands import ROOT

pytestmark = pytest.mark.asyncio(loop_scope="session")

EXECUTION = ROOT / "operator/console/test/three_phase_commit-382f.execution.json"
MARKUP = "<img src=x onerror=window.pwned=1>"
HOSTILE = (
    *(MARKUP, "javascript:window.pwned=1", "'\"`${1}", "\x1b[2J"),
    *("__proto__", "constructor", "toString"),
)
"""Names that no API server admits: what if a check of the operator were missing?"""

DRAWN = {"svg", "g", "title", "rect", "path", "circle", "text"}
"""The elements of a saved picture."""


@pytest.mark.parametrize(
    "visit", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True
)
async def test_axe_finds_nothing_serious_in_any_view(visit: Visit) -> None:
    for name in await visit.views():
        await visit.choose(name)
        assert await visit.inaccessible() == [], name
    await visit.leave()
    for name in await visit.views():
        await visit.choose(name)
        assert await visit.inaccessible() == [], name
    await open_execution(visit, EXECUTION)
    assert await visit.inaccessible() == []


@pytest.mark.parametrize("width", [390, 1280, 3840])
async def test_no_view_is_wider_than_the_window(visit: Visit, width: int) -> None:
    await visit.page.set_viewport_size({"width": width, "height": 900})
    for name in await visit.views():
        await visit.choose(name)
        assert await visit.too_wide() <= 0, name
    await visit.leave()
    assert await visit.too_wide() <= 0
    await open_execution(visit, EXECUTION)
    assert await visit.too_wide() <= 0


async def test_a_killed_node_is_shown_and_its_successor(visit: Visit) -> None:
    await visit.shows("24 of 24 nodes joined")
    table = await visit.choose("nodes")
    row = table.get_by_role("row").filter(has=visit.page.get_by_text("ads-7", exact=True))
    await expect(row).to_contain_text("joined")
    visit.recording.kill("ads-7")
    visit.recording.report()
    await visit.shows("23 of 24 nodes joined")
    await expect(row).to_contain_text("absent")
    visit.recording.step()
    await expect(row).to_contain_text("starting")
    visit.recording.step()
    await expect(row).to_contain_text("joined")
    await visit.shows("24 of 24 nodes joined")


async def test_a_switch_of_the_overlay_and_a_partition_are_shown(visit: Visit) -> None:
    visit.recording.switch("Cyclon")
    visit.recording.step()
    await visit.shows("HyParView → Cyclon")
    for _ in range(8):
        visit.recording.step()
    await expect(visit.head).not_to_contain_text("HyParView")
    visit.recording.partition(8)
    visit.recording.step()
    await visit.shows("2 components")


async def test_traffic_has_the_present_rate_of_each_channel(visit: Visit) -> None:
    visit.recording.step()
    table = (await visit.choose("traffic")).get_by_role("table")
    gossip = next(each for each in visit.recording.status.channels if each.name == "gossip")
    row = table.get_by_role("row").filter(has=visit.page.get_by_role("rowheader", name="gossip"))
    await expect(row).to_contain_text(f"{gossip.messages:,}")
    await expect(table.get_by_role("rowheader")).to_have_text(["default", "gossip", "overlay"])


async def test_the_run_has_its_value_and_those_of_the_replicas(visit: Visit) -> None:
    run = await visit.choose("run")
    await expect(run).to_contain_text("Running")
    for _ in range(3):
        visit.recording.step()
    await expect(run).to_contain_text("Values of 24 replicas now")
    assert visit.recording.status.workload is not None
    await expect(run).to_contain_text(f"{visit.recording.status.workload.value:,}")


async def test_events_are_filtered_by_type_and_text(visit: Visit) -> None:
    view = await visit.choose("events")
    for kind, text in (("Normal", "the first"), ("Warning", "the second")):
        event = Announcement(kind, "Noted", text)  # type: ignore[arg-type]
        visit.site.hub.announced(visit.recording.cluster, event)
    await expect(view.get_by_role("cell", name="the first")).to_be_visible()
    await view.get_by_label("Type").select_option("Warning")
    await expect(view.get_by_role("cell", name="the first")).to_have_count(0)
    await view.get_by_label("Type").select_option("")
    await view.get_by_label("Filter").fill("the first")
    await expect(view.get_by_role("cell", name="the second")).to_have_count(0)
    await expect(view.get_by_role("cell", name="the first")).to_be_visible()


async def test_a_counterexample_is_stepped_through_by_hand(visit: Visit) -> None:
    await visit.leave()
    view = await open_execution(visit, EXECUTION)
    step, last = view.get_by_test_id("step"), len(json.loads(EXECUTION.read_text())["events"])
    await expect(step).to_contain_text(f"{last} of {last}")
    await view.get_by_role("button", name="First").click()
    await expect(step).to_contain_text(f"1 of {last}")
    await view.get_by_role("button", name="Next").click()
    await expect(step).to_contain_text(f"2 of {last}")
    await view.locator("figure").focus()
    await visit.page.keyboard.press("ArrowDown")
    await expect(step).to_contain_text(f"3 of {last}")
    await view.get_by_text("The events as a table").click()
    await expect(view.locator("tr[aria-current=step]")).to_have_count(1)


@pytest.mark.parametrize("text", ["", "{", '{"events": 1}', '{"__proto__": {"events": []}}'])
async def test_a_file_that_is_no_execution_is_refused_with_a_reason(
    visit: Visit, text: str, tmp_path: Path
) -> None:
    await visit.leave()
    file = tmp_path / f"{MARKUP.replace('/', '')}.json"
    file.write_text(text)
    view = await open_execution(visit, file)
    await expect(view.locator(".notice.bad")).to_contain_text(f"{file.name}: ")
    assert await visit.page.evaluate("window.pwned === undefined")


async def test_the_theme_is_kept(visit: Visit) -> None:
    await visit.page.get_by_label("Theme").select_option("dark")
    background = "getComputedStyle(document.documentElement).colorScheme"
    dark = await visit.page.evaluate(background)
    await visit.page.reload()
    await visit.connected()
    await expect(visit.page.get_by_label("Theme")).to_have_value("dark")
    assert await visit.page.evaluate(background) == dark


async def test_a_dropped_stream_continues_without_a_word(visit: Visit) -> None:
    _drop_streams(visit)
    visit.recording.kill("ads-1")
    visit.recording.report()
    await visit.shows("23 of 24 nodes joined")
    await visit.connected()
    await expect(visit.notices).to_be_empty()


async def test_without_a_leader_the_page_says_so_and_tries_again(visit: Visit) -> None:
    visit.site.leader.leading = False
    _drop_streams(visit)
    await expect(visit.notices).to_contain_text("no operator holds the Lease")
    visit.forgive("503")
    visit.site.leader.leading = True
    visit.site.hub.began(lambda _namespace, _name: None)
    visit.recording.step()
    await expect(visit.notices).to_contain_text("Another operator leads now")
    await visit.connected()
    await visit.shows("24 of 24 nodes joined")


async def test_a_viewer_that_is_too_slow_gets_everything_anew(visit: Visit) -> None:
    visit.recording.kill("ads-1")
    visit.recording.report()
    event = Announcement("Normal", "Noted", "x" * 2048)
    # Without a pause in between nothing is sent: all of it waits, until it is too much.
    while not any(viewer.behind for viewer in visit.site.hub._viewers):
        visit.site.hub.announced(visit.recording.cluster, event)
    await expect(visit.notices).to_contain_text("read too slowly")
    await visit.shows("23 of 24 nodes joined")


async def test_hostile_names_and_texts_are_shown_as_text_and_nothing_else(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visit.site.hub, "_refresh", lambda _cluster: None)
    for section in ("clusters", "details"):
        _publish_hostile(visit, section)
    for reload in (False, True):
        if reload:
            await visit.page.reload()
            await visit.connected()
        for name in await visit.views():
            await visit.choose(name)
            assert await visit.page.locator("img, main script, a[href^='javascript']").count() == 0
        view = await visit.choose("overlay")
        await expect(view.get_by_role("alert")).to_have_count(0)
        picture = ElementTree.fromstring(await visit.save())
        assert {element.tag.removeprefix(SVG) for element in picture.iter()} == DRAWN
        table = await visit.choose("nodes")
        for name in HOSTILE:
            await expect(table.get_by_text(name, exact=True).first).to_be_visible()
        polluted = "[window.pwned, {}.state, Object.keys(Object.prototype).length].join()"
        assert await visit.page.evaluate(polluted) == ",,0"


async def open_execution(visit: Visit, file: Path) -> Locator:
    """Opens a file in the view of counterexamples."""
    view = await visit.choose("counterexample")
    await view.get_by_label("Execution").set_input_files(file)
    return view


def _publish_hostile(visit: Visit, section: str) -> None:
    part = Part(section, "default", "ads")  # type: ignore[arg-type]
    document = deepcopy(visit.site.hub._documents[part])
    if section == "clusters":
        document["conditions"]["Degraded"] = {
            **{"status": "True", "reason": MARKUP, "message": MARKUP, "since": MARKUP}
        }
        document["conditions"]["__proto__"] = document["conditions"]["Degraded"]
        for name in HOSTILE:
            document["channels"][name] = {"messages": 2**53 - 1, "bytes": -1, "dropped": 1e308}
        document["run"] |= {"module": MARKUP, "value": -(2**53) + 1, "threshold": 0}
    else:
        for name in HOSTILE:
            lie = {"state": "joined", "zone": name, "kind": name, "incarnation": 2**53 - 1}
            document["nodes"][name] = lie
            document["links"][f"ads-0 {name}"] = {}
            document["links"][name] = {}
        document["events"]["__proto__"] = document["events"]["constructor"] = {
            **{"at": 1e15, "type": MARKUP, "reason": MARKUP, "message": MARKUP}
        }
    visit.site.hub._publish(part, document)


def _drop_streams(visit: Visit) -> None:
    """Ends the streams, as a broken connection does."""
    for viewer in visit.site.hub._viewers:
        viewer.close()
