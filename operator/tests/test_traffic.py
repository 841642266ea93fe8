"""Traffic by channel."""

from datetime import timedelta

from partisan_operator.models.status import MAX_COUNT
from partisan_operator.observe.observation import Seen
from partisan_operator.observe.traffic import aggregate, channel_names
from world import START, cluster, report


def seen(messages: int, seconds: int, incarnation: int = 1) -> Seen:
    channel = {"sent_messages": messages, "sent_bytes": 10 * messages, "queue_bytes": 5}
    node = report("ads-0", incarnation=incarnation, channels={"default": channel, "made-up": {}})
    return Seen(node, "uid", START + timedelta(seconds=seconds))


def test_totals_are_summed_and_rates_are_per_node() -> None:
    earlier = {"a": seen(10, 0), "b": seen(0, 1)}
    current = {"a": seen(30, 2), "b": seen(8, 3), "new": seen(100, 3)}
    (overlay, default) = aggregate(("overlay", "default"), earlier, current)
    assert overlay.messages == 0
    assert default.messages == 138
    assert default.bytes == 1380
    assert default.queue_bytes == 15
    assert default.messages_per_second == 10 + 4
    assert default.bytes_per_second == 140


def test_totals_of_faulty_nodes_are_numbers_that_the_api_server_stores() -> None:
    (default,) = aggregate(("default",), {}, {"a": seen(MAX_COUNT, 0), "b": seen(1, 0)})
    assert (default.messages, default.bytes) == (MAX_COUNT, MAX_COUNT)


def test_a_restarted_node_has_no_rate_and_none_is_negative() -> None:
    (default,) = aggregate(("default",), {"a": seen(10, 0)}, {"a": seen(3, 1, incarnation=2)})
    assert default.messages_per_second == 0
    (default,) = aggregate(("default",), {"a": seen(10, 0)}, {"a": seen(3, 1)})
    assert default.messages_per_second == 0


def test_a_cluster_has_the_channels_of_its_spec_and_overlay() -> None:
    assert channel_names(cluster().spec) == ("overlay", "default", "gossip")
