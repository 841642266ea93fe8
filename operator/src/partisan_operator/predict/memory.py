"""The memory of a node: a model of what was measured, for simulated nodes are no processes.

A node is an idle Erlang machine with the release, its connections, and its replica. The replica is
held as terms, several times what it takes when it is written, and a collection has it twice; and
what is being read and written of it is beside it.
"""

from __future__ import annotations

from partisan_operator.models import PartisanCluster

IDLE_BYTES = 12.6e6
"""Proportional set size of a node with two neighbours: 32 pods of one machine that share their
pages (`make bench`). The share of a page falls with the number of nodes on a machine, and one alone
has some 20 MB."""

CONNECTION_BYTES = 30e3
"""One end of a connection: a process, a socket, their buffers."""

REPLICA_FACTOR = 40.0
"""Bytes of heap for each byte of a replica as it is written."""


def bytes_per_node(cluster: PartisanCluster, *, degree: float, replica_bytes: float) -> float:
    """Return the proportional set size of a node, about, once its run is over."""
    lanes = 1 + sum(channel.parallelism for channel in cluster.spec.channels)
    # A lane has a connection of its own in each direction.
    connections = 2 * degree * lanes
    return IDLE_BYTES + connections * CONNECTION_BYTES + REPLICA_FACTOR * replica_bytes
