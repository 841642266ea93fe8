"""Rates of links: between two reports of each node, of both directions, and steady."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.console.links import TOLERANCE, Link, LinkRates, Rate
from partisan_operator.observe.observation import Seen
from world import START, report

CHANNELS = ("overlay", "gossip")
LINK = ("ads-0", "ads-1")


def sent(
    node: str,
    messages: int,
    seconds: float,
    *,
    peer: str = "",
    channel: str = "gossip",
    incarnation: int = 1,
) -> dict[str, Seen]:
    """Return the report of a node that has sent so many messages, of ten bytes each."""
    other = peer or ("ads-1" if node == "ads-0" else "ads-0")
    counters = {channel: {"sent_messages": messages, "sent_bytes": 10 * messages}}
    return seen(node, {"peers": {other: counters}}, seconds, incarnation=incarnation)


def seen(node: str, traffic: Any, seconds: float, incarnation: int = 1) -> dict[str, Seen]:
    answer = report(node, incarnation=incarnation, traffic=traffic)
    return {node: Seen(answer, node, START + timedelta(seconds=seconds))}


def shown(rates: LinkRates, reports: dict[str, Seen]) -> dict[Link, dict[str, Rate]]:
    """Return the rates by link and channel that are shown after these reports."""
    return {link: dict(one.rates) for link, one in rates.update(reports, CHANNELS).items()}


def test_both_directions_make_the_rate_each_over_its_own_interval() -> None:
    rates = LinkRates()
    assert shown(rates, sent("ads-0", 10, 0) | sent("ads-1", 0, 1)) == {}
    second = sent("ads-0", 30, 2) | sent("ads-1", 8, 3)
    assert shown(rates, second) == {LINK: {"gossip": Rate(14, 140, 28)}}
    assert shown(rates, second) == {LINK: {"gossip": Rate(14, 140, 28)}}


def test_a_node_that_does_not_answer_keeps_its_rate() -> None:
    rates = LinkRates()
    silent = sent("ads-1", 0, 0)
    rates.update(sent("ads-0", 0, 0) | silent, CHANNELS)
    rates.update(sent("ads-0", 10, 1) | (silent := sent("ads-1", 10, 1)), CHANNELS)
    found = shown(rates, sent("ads-0", 20, 2) | silent)
    assert found == {LINK: {"gossip": Rate(20, 200, 20)}}


@pytest.mark.parametrize(
    ("before", "later"),
    [
        (sent("ads-0", 10, 0), sent("ads-0", 100, 1, incarnation=2)),
        (sent("ads-0", 10, 0), sent("ads-0", 3, 1)),
        (sent("ads-0", 10, 0), sent("ads-0", 100, 0)),
        (sent("ads-0", 10, 0), seen("ads-0", None, 1)),
        (seen("ads-0", None, 0), sent("ads-0", 100, 1)),
        (seen("ads-0", {"peers": {}}, 0), sent("ads-0", 100, 1)),
        (sent("ads-0", 0, 0, peer="ads-9"), sent("ads-0", 100, 1, peer="ads-9")),
        (sent("ads-0", 0, 0, channel="made-up"), sent("ads-0", 100, 1, channel="made-up")),
    ],
    ids=["restarted", "reconnected", "no time", "not asked", "first", "new", "peer", "channel"],
)
def test_there_is_no_rate_without_two_comparable_counters(
    before: dict[str, Seen], later: dict[str, Seen]
) -> None:
    rates, other = LinkRates(), sent("ads-1", 0, 0)
    rates.update(before | other, CHANNELS)
    assert not any(shown(rates, later | other).values())


def test_a_quiet_channel_is_not_shown() -> None:
    rates = LinkRates()
    rates.update(sent("ads-0", 0, 0) | sent("ads-1", 0, 0), CHANNELS)
    found = shown(rates, sent("ads-0", 1, 10) | sent("ads-1", 1, 10))
    assert not any(found.values())
    found = shown(rates, sent("ads-0", 11, 20) | sent("ads-1", 11, 20))
    assert found == {LINK: {"gossip": Rate(2, 20, 20)}}
    found = shown(rates, sent("ads-0", 13, 30) | sent("ads-1", 12, 30))
    assert found[LINK]["gossip"].messages == pytest.approx(0.3)
    found = shown(rates, sent("ads-0", 14, 40) | sent("ads-1", 13, 40))
    assert not any(found.values())


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(100, 120, 100), (100, 127, 127), (4, 6, 4), (4, 9, 9), (100, 0, None), (1, 100, 100)],
    ids=["noise", "much", "few", "few, but much", "none", "more"],
)
def test_a_rate_stays_while_chance_explains_the_difference(
    first: int, second: int, expected: float | None
) -> None:
    rates, idle = LinkRates(), sent("ads-1", 0, 0)
    for number, total in enumerate((0, first, first + second)):
        found = shown(rates, sent("ads-0", total, number) | idle)
    rate = found[LINK].get("gossip")
    assert (None if rate is None else rate.messages) == expected


@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=30))
def test_a_shown_rate_is_never_far_from_the_present_one(messages: list[int]) -> None:
    rates, total = LinkRates(), 0
    idle = sent("ads-1", 0, 0)
    rates.update(sent("ads-0", 0, 0) | idle, CHANNELS)
    for second, count in enumerate(messages, 1):
        total += count
        rate = shown(rates, sent("ads-0", total, second) | idle)[LINK]["gossip"]
        assert abs(rate.messages - count) <= TOLERANCE[1] * max(rate.messages, count)


def test_a_steady_link_is_the_same_object_with_the_figures_of_the_page() -> None:
    rates, idle = LinkRates(), sent("ads-1", 0, 0)
    rates.update(sent("ads-0", 0, 0) | idle, CHANNELS)
    first, second, third = (
        rates.update(sent("ads-0", total, seconds) | idle, CHANNELS)[LINK]
        for seconds, total in enumerate((1000, 2100, 4600), 1)
    )
    assert second is first
    assert [one.document["channels"]["gossip"] for one in (first, third)] == [
        {"messages_per_second": 1000, "bytes_per_second": 10_000},
        {"messages_per_second": 2500, "bytes_per_second": 25_000},
    ]
