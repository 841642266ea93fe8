"""Counting series."""

from scale_tests.cluster.monitoring.cardinality import OF_TARGET, bound, node_series

PAGE = """\
# HELP partisan_channel_queue_bytes Bytes that wait.
# TYPE partisan_channel_queue_bytes gauge
partisan_channel_queue_bytes{channel="gossip"} 0
partisan_channel_bytes_total{channel="gossip",direction="sent"} 1
partisan_channel_bytes_total{direction="sent",channel="overlay"} 1
partisan_overlay_joined 1

erlang_vm_memory_bytes{kind="resident"} 1
"""


def test_series_are_counted_by_channel_wherever_the_label_stands() -> None:
    series = node_series(PAGE)
    assert series.channels == {"gossip": 2, "overlay": 1}
    assert series.fixed == 2 + OF_TARGET
    assert series.total == 5 + OF_TARGET


def test_the_bound_grows_with_channels_alone() -> None:
    assert bound(3) - bound(2) == bound(9) - bound(8) > 0
