"""The stream: a snapshot and every change after it, for each viewer what it may see."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_rig import Page, ads, seen, shown, status
from partisan_operator.console import hub as hubs
from partisan_operator.console import viewer as viewers
from partisan_operator.console.history import Change, History, Part
from partisan_operator.console.hub import Hub
from partisan_operator.console.patches import apply, delta
from partisan_operator.console.viewer import Selection
from partisan_operator.models import PartisanClusterStatus
from partisan_operator.observe.observation import Observation, Seen
from partisan_operator.status.announcements import Announcement
from world import START, report

EVERYTHING = Selection(None)
OPEN = Selection(None, ("default", "ads"))
LINK = seen(("ads-0", "ads-1"))


@pytest.fixture
def woken() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def hub(woken: list[tuple[str, str]]) -> Hub:
    made = Hub()
    made.began(lambda namespace, name: woken.append((namespace, name)))
    return made


def closing(stream: AsyncGenerator[bytes]) -> aclosing[AsyncGenerator[bytes]]:
    return aclosing(stream)


async def test_a_viewer_gets_a_snapshot_and_then_changes(hub: Hub) -> None:
    page = Page()
    hub.observed(ads(), status(1), LINK)
    async with closing(hub.stream(EVERYTHING)) as stream:
        await page.read(stream)
        assert page.joined() == 1
        hub.observed(ads(), status(2), LINK)
        hub.observed(ads("more"), status(9), LINK)
        await page.read(stream)
        assert (page.joined(), page.joined("default/more")) == (2, 9)
        hub.forgotten("default", "more")
        await page.read(stream)
        assert list(page.document["clusters"]) == ["default/ads"]
    assert page.reasons == ["start"]
    assert page.document["details"] == {}


async def test_nothing_is_rendered_without_viewers(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render(*_: object) -> None:
        raise AssertionError("rendered")

    monkeypatch.setattr(hubs, "summary", render)
    hub.observed(ads(), status(1), LINK)
    hub.failed(ads(), status(1))
    hub.announced(ads(), Announcement("Normal", "Reason", "text"))
    assert hub._sequence == 0


async def test_details_are_of_the_open_cluster_alone(
    hub: Hub, woken: list[tuple[str, str]]
) -> None:
    page = Page()
    hub.observed(ads(), status(1), LINK)
    hub.observed(ads("more"), status(1), LINK)
    assert not hub.watches(ads())
    assert hub.pause(ads(), 10.0, 0.2) == 10.0
    async with closing(hub.stream(OPEN)) as stream:
        await page.read(stream)
        assert woken == [("default", "ads")]
        assert hub.watches(ads())
        assert not hub.watches(ads("more"))
        assert hub.pause(ads(), 10.0, 0.25) == 0.75
        assert hub.pause(ads(), 10.0, 3.0) == 0.0
        assert hub.pause(ads(replicas=1024), 10.0, 2.0) == pytest.approx(4.0, abs=0.1)
        assert hub.pause(ads(), 0.5, 0.0) == 0.5
        assert hub.pause(ads("more"), 10.0, 0.0) == 10.0
        assert list(page.document["details"]) == ["default/ads"]
        hub.observed(ads(), status(1), seen(("ads-0", "ads-1"), ("ads-1", "ads-2")))
        hub.announced(ads(), Announcement("Warning", "Reason", "text"))
        await page.read(stream)
    details = page.document["details"]["default/ads"]
    assert list(details["links"]) == ["ads-0 ads-1", "ads-1 ads-2"]
    assert [entry["reason"] for entry in details["events"].values()] == ["Reason"]
    assert hub.pause(ads(), 10.0, 0.0) == 10.0
    assert not hub._open


async def test_an_open_cluster_has_the_rates_of_its_links(hub: Hub) -> None:
    def traffic(messages: int, seconds: int) -> Observation:
        observed = seen(("ads-0", "ads-1"))
        counters = {"gossip": {"sent_messages": messages, "sent_bytes": 1234 * messages}}
        answer = report("ads-0", active=("ads-1",), traffic={"peers": {"ads-1": counters}})
        at = START + timedelta(seconds=seconds)
        return replace(observed, seen={**observed.seen, "ads-0": Seen(answer, "ads-0", at)})

    page = Page()
    async with closing(hub.stream(OPEN)) as stream:
        await page.read(stream)
        hub.observed(ads(), status(1), traffic(0, 0))
        hub.announced(ads(), Announcement("Warning", "Reason", "text"))
        hub.observed(ads(), status(1), traffic(3, 1))
        await page.read(stream)
    assert page.document["details"]["default/ads"]["links"] == {
        "ads-0 ads-1": {
            "channels": {"gossip": {"messages_per_second": 3, "bytes_per_second": 3700}}
        }
    }


async def test_rates_of_channels_are_unknown_after_the_first_observation(hub: Hub) -> None:
    traffic = {"name": "default", "messages": 7, "bytes": 70, "dropped": 0, "queueBytes": 0}
    idle = traffic | {"messagesPerSecond": 0, "bytesPerSecond": 0}
    found = PartisanClusterStatus.model_validate({"channels": [idle]})

    def shown_rates() -> set[str]:
        default = page.document["clusters"]["default/ads"]["channels"]["default"]
        assert default["messages"] == 7
        return {name for name in default if name.endswith("per_second")}

    page = Page()
    async with closing(hub.stream(EVERYTHING)) as stream:
        await page.read(stream)
        hub.observed(ads(), found, LINK)
        await page.read(stream)
        assert shown_rates() == set()
        hub.observed(ads(), found, LINK)
        await page.read(stream)
        assert shown_rates() == {"messages_per_second", "bytes_per_second"}


async def test_a_viewer_sees_its_namespaces_alone(hub: Hub) -> None:
    page = Page()
    hub.observed(ads("a"), status(1), LINK)
    async with closing(hub.stream(Selection(frozenset({"other"})))) as stream:
        await page.read(stream)
        assert page.document["clusters"] == {}
        hub.observed(ads("b"), status(1), LINK)
        hub.observed(ads("c", namespace="other"), status(1), LINK)
        await page.read(stream)
    assert list(page.document["clusters"]) == ["other/c"]


async def test_a_stream_resumes_where_it_ended(hub: Hub) -> None:
    page = Page()
    hub.observed(ads(), status(1), LINK)
    async with closing(hub.stream(OPEN)) as stream:
        await page.read(stream)
    hub.observed(ads(), status(2), LINK)
    hub.observed(ads(), status(3), LINK)
    async with closing(hub.stream(OPEN, page.last)) as stream:
        await page.read(stream)
    assert page.joined() == 3
    assert page.reasons == ["start"]
    # Nothing has changed: a comment, so that the answer begins.
    async with closing(hub.stream(OPEN, page.last)) as stream:
        assert (await anext(stream)).startswith(b":")
    # Another selection would lack what it did not show.
    async with closing(hub.stream(EVERYTHING, page.last)) as stream:
        await page.read(stream)
    assert page.reasons == ["start", "resumed"]


@pytest.mark.parametrize("last", ["x", "0-0", "--", "abc-1e3-x", "{epoch}-99-{mark}", "{epoch}--"])
async def test_an_id_that_is_not_of_this_stream_gets_a_snapshot(hub: Hub, last: str) -> None:
    page = Page()
    hub.observed(ads(), status(1), LINK)
    last = last.format(epoch=hub.epoch, mark=EVERYTHING.mark)
    async with closing(hub.stream(EVERYTHING, last)) as stream:
        await page.read(stream)
    assert page.joined() == 1


async def test_a_new_leader_begins_anew_and_says_so(hub: Hub) -> None:
    page, epoch = Page(), hub.epoch
    hub.observed(ads(), status(1), LINK)
    async with closing(hub.stream(EVERYTHING)) as stream:
        await page.read(stream)
        hub.ended()
        assert [piece async for piece in stream] == []
    hub.began(lambda namespace, name: None)
    assert hub.epoch != epoch
    async with closing(hub.stream(EVERYTHING, page.last)) as stream:
        await page.read(stream)
        assert page.document == {"clusters": {}, "details": {}}
        hub.observed(ads(), status(2), LINK)
        await page.read(stream)
    assert (page.reasons, page.joined()) == (["start", "leader"], 2)


async def test_a_stream_ends_before_what_the_next_leader_finds(hub: Hub) -> None:
    page = Page()
    hub.observed(ads(), status(1), LINK)
    async with closing(hub.stream(EVERYTHING)) as stream:
        await page.read(stream)
        hub.observed(ads(), status(2), LINK)
        hub.began(lambda namespace, name: None)
        # Before the stream has noticed.
        hub.observed(ads(), status(3), LINK)
        assert [piece async for piece in stream] == []
    async with closing(hub.stream(EVERYTHING, page.last)) as stream:
        await page.read(stream)
    assert (page.reasons, page.joined()) == (["start", "leader"], 3)


async def test_a_slow_viewer_gets_a_snapshot_instead_of_an_endless_queue(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = Page(), Page()
    hub.observed(ads(), status(0), LINK)
    async with closing(hub.stream(EVERYTHING)) as one, closing(hub.stream(EVERYTHING)) as two:
        await slow.read(one)
        await quick.read(two)
        for viewer in hub._viewers:
            viewer._limit = 2000
        for joined in range(1, 200):
            hub.observed(ads(), status(joined), LINK)
            assert all(viewer._pending <= 2000 for viewer in hub._viewers)
            await quick.read(two)
        await slow.read(one)
        assert slow.reasons == ["start", "behind"]
        hub.observed(ads(), status(200), LINK)
        await slow.read(one)
        await quick.read(two)
    assert quick.reasons == ["start"]
    assert slow.document == quick.document


async def test_a_long_absence_is_not_replayed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page()
    hub.observed(ads(), status(0), LINK)
    async with closing(hub.stream(EVERYTHING)) as stream:
        await page.read(stream)
        hub.observed(ads(), status(1), LINK)
        monkeypatch.setattr(hubs, "MAX_PENDING", 10)
        async with closing(hub.stream(EVERYTHING, page.last)) as again:
            await page.read(again)
    assert page.reasons == ["start", "resumed"]


async def test_silence_is_interrupted_by_comments(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "KEEP_ALIVE", 0.01)
    async with closing(hub.stream(EVERYTHING)) as stream:
        await anext(stream)
        assert await anext(stream) == b": keep-alive\n\n"


async def test_a_fault_of_the_page_stops_no_reconcile(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render(*_: object) -> None:
        raise RuntimeError("a fault")

    async with closing(hub.stream(EVERYTHING)) as stream:
        await anext(stream)
        monkeypatch.setattr(hubs, "summary", render)
        hub.observed(ads(), status(1), LINK)


async def test_details_that_nobody_has_open_are_dropped(hub: Hub) -> None:
    async with closing(hub.stream(EVERYTHING)) as stream:
        await anext(stream)
        for number in range(hubs.MAX_DETAILS + 5):
            name = f"c{number}"
            hub.observed(ads(name), status(1), LINK)
            async with closing(hub.stream(Selection(None, ("default", name)))) as one:
                await anext(one)
    kept = [part for part in hub._documents if part.section == "details"]
    assert len(kept) <= hubs.MAX_DETAILS + 1


steps = st.lists(
    st.tuples(
        st.sampled_from(["observe", "forget", "announce", "read"]),
        st.sampled_from(["ads", "more"]),
        st.integers(0, 3),
    ),
    max_size=30,
)


@given(steps, st.sampled_from([300, 100_000]))
def test_a_viewer_holds_the_document_whatever_happens(
    history: list[tuple[str, str, int]], limit: int
) -> None:
    async def run() -> None:
        hub, page = Hub(limit=5000), Page()
        hub.began(lambda namespace, name: None)
        async with closing(hub.stream(OPEN)) as stream:
            await page.read(stream)
            for viewer in hub._viewers:
                viewer._limit = limit
            for step, name, number in history:
                match step:
                    case "observe":
                        links = seen(*((f"ads-{i}", "ads-0") for i in range(1, number)))
                        hub.observed(ads(name), status(number), links)
                    case "forget":
                        hub.forgotten("default", name)
                    case "announce":
                        hub.announced(ads(name), Announcement("Normal", "R", str(number)))
                    case "read" if any(one._news.is_set() for one in hub._viewers):
                        await page.read(stream)
            hub.observed(ads(), status(77), LINK)
            await page.read(stream)
        assert page.document == json.loads(json.dumps(shown(hub)))
        lines = [json.loads(line) async for line in hub.history(OPEN)]
        document = lines[0]["document"]
        for line in lines[1:]:
            document = apply(document, line["patch"])
        assert document == page.document
        assert hub._history.size <= 5000

    asyncio.run(run())


def test_the_history_is_bounded_and_keeps_what_came_before() -> None:
    history, part = History(4000), Part("clusters", "default", "ads")
    before: dict[str, int] = {}
    for number in range(1, 101):
        after = {"joined": number}
        history.append(Change.of(number, part, 0.0, delta(before, after)))
        before = after
    changes = history.changes()
    assert history.size <= 4000
    assert changes[-1].sequence == 100
    assert history.since(100, 100) == []
    assert history.since(99, 100) == [changes[-1]]
    assert history.since(1, 100) is None
    assert history.since(changes[0].sequence - 1, 100) == list(changes)
    assert dict(history.base()) == {part: {"joined": changes[0].sequence - 1}}
    history.append(Change.of(101, part, 0.0, None))
    for number in range(102, 140):
        history.append(Change.of(number, Part("clusters", "default", "b"), 0.0, {"x": number}))
    assert part not in dict(history.base())


def test_the_marks_of_selections_differ() -> None:
    marks = {
        Selection(namespaces, cluster).mark
        for namespaces in (None, frozenset[str](), frozenset({"a"}), frozenset({"a", "b"}))
        for cluster in (None, ("a", "b"))
    }
    assert len(marks) == 8
    assert viewers.MAX_PENDING < 2**20
