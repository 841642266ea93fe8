"""How long the loop of a cluster pauses at least, so that many clusters share one operator."""

from __future__ import annotations

LEAST_PAUSE = 0.25
"""Seconds between two reconciles, however many events arrive."""

_SHARE_OF_TIME = 4
"""The loop of a settled cluster pauses at least this many times as long as the operator computed,
so that many large ones leave time for those at work; that of a cluster at work as long as that.
Time spent waiting for nodes or the API server does not count."""

NODES_PER_SECOND = 200
"""Most nodes of a cluster that are asked per second: an answer takes each about a millisecond, and
while a large cluster forms, changes arrive all the time."""


def least_pause(computed: float, *, nodes: int, settled: bool) -> float:
    """Return the least pause in seconds after a reconcile.

    `computed` is its processor time in seconds, `nodes` the size of the cluster.
    """
    share = computed * (_SHARE_OF_TIME if settled else 1)
    return max(LEAST_PAUSE, share, nodes / NODES_PER_SECOND)
