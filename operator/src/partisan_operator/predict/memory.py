"""The memory of a node: a model of measurements, since simulated nodes are not processes.

A node is an idle Erlang VM with the release, its connections, and its replica. The replica consists
of terms, which use several times its serialised size, twice during a garbage collection, in
addition to the parts being read and written.
"""

from partisan_operator.models import PartisanCluster

IDLE_BYTES = 12.6e6
"""Proportional set size in bytes of a node with two neighbours: 32 pods on one host that share
their pages (`make bench`). The share of a page falls with the number of pods on a host; a single
one uses some 20 MB."""

CONNECTION_BYTES = 30e3
"""One end of a connection: a process, a socket, their buffers."""

REPLICA_FACTOR = 40.0
"""Bytes of heap for each byte of a serialised replica."""


def bytes_per_node(cluster: PartisanCluster, *, degree: float, replica_bytes: float) -> float:
    """Return the approximate proportional set size of a node in bytes at the end of its run."""
    lanes = 1 + sum(channel.parallelism for channel in cluster.spec.channels)
    # A lane has a connection of its own in each direction.
    connections = 2 * degree * lanes
    return IDLE_BYTES + connections * CONNECTION_BYTES + REPLICA_FACTOR * replica_bytes
