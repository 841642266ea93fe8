"""The page in a browser: its views, its stream, and what it refuses to do."""

from __future__ import annotations

from copy import deepcopy

import pytest
from partisan_operator.console.history import Part
from partisan_operator.status.announcements import Announcement
from playwright.async_api import expect

from scale_tests.benches.console.tests.visit import Visit

pytestmark = pytest.mark.asyncio(loop_scope="session")

MARKUP = "<img src=x onerror=window.pwned=1>"
HOSTILE = (MARKUP, "javascript:window.pwned=1", "__proto__", "constructor", "toString", "'\"`${1}")
"""Names that no API server admits: what if a check of the operator were missing?"""


@pytest.mark.parametrize(
    "visit", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True
)
async def test_axe_finds_nothing_serious_in_any_view(visit: Visit) -> None:
    for name in await visit.views():
        await visit.choose(name)
        assert await visit.inaccessible() == [], name
    await visit.page.get_by_role("link", name="Clusters").click()
    await expect(visit.view("clusters")).to_be_visible()
    assert await visit.inaccessible() == []


@pytest.mark.parametrize("width", [390, 1280, 3840])
async def test_no_view_is_wider_than_the_window(visit: Visit, width: int) -> None:
    await visit.page.set_viewport_size({"width": width, "height": 900})
    for name in await visit.views():
        await visit.choose(name)
        assert await visit.too_wide() <= 0, name


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


async def test_a_dropped_stream_continues_without_a_word(visit: Visit) -> None:
    visit.site.drop()
    visit.recording.kill("ads-1")
    visit.recording.report()
    await visit.shows("23 of 24 nodes joined")
    await visit.connected()
    await expect(visit.notices).to_be_empty()


async def test_without_a_leader_the_page_says_so_and_tries_again(visit: Visit) -> None:
    visit.site.leader.leading = False
    visit.site.drop()
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
    while not visit.site.behind():
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
        table = await visit.choose("nodes")
        for name in HOSTILE:
            await expect(table.get_by_text(name, exact=True).first).to_be_visible()
        polluted = "[window.pwned, {}.state, Object.keys(Object.prototype).length].join()"
        assert await visit.page.evaluate(polluted) == ",,0"


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
