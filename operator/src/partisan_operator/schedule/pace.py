"""The least pause of a cluster's loop, so that many clusters share one operator."""

LEAST_PAUSE = 0.25
"""Seconds between two reconciles, however many events arrive."""

_SHARE_OF_TIME = 4
"""The loop of a settled cluster pauses at least this many times as long as the operator computed,
so that many large clusters leave time for active ones; that of an active cluster, once as long.
Time spent waiting for nodes or the API server does not count."""

NODES_PER_SECOND = 200
"""Most nodes of a cluster that are scraped per second: an answer takes about a millisecond each,
and changes arrive continuously while a large cluster forms."""


def least_pause(computed: float, *, nodes: int, settled: bool) -> float:
    """Return the least pause in seconds after a reconcile.

    `computed` is its processor time in seconds, `nodes` the size of the cluster.
    """
    share = computed * (_SHARE_OF_TIME if settled else 1)
    return max(LEAST_PAUSE, share, nodes / NODES_PER_SECOND)
