"""A fault that lasts: a chain of nodes, of which one in the middle is kept away."""

from collections.abc import Iterator
from contextlib import contextmanager

from scale_tests.cluster.crowding import crowded
from scale_tests.cluster.kube import Json
from scale_tests.cluster.subject import Subject, kill_pod, manifest

CHAIN = 3
"""Nodes of the chain: without the one in the middle, the two others are isolated."""


def chain(name: str) -> Json:
    """A cluster whose overlay one node can partition: its links are fixed and not redundant."""
    edges = [[ordinal, ordinal + 1] for ordinal in range(CHAIN - 1)]
    overlay = {"kind": "Static", "static": {"edges": edges}}
    return manifest(name, CHAIN, overlay=overlay, workload=None)


@contextmanager
def kept_away(subject: Subject, pod: str) -> Iterator[None]:
    """Kills a pod, and prevents its replacement until the end. Raises ApiError, StalledError."""
    with crowded(subject):
        kill_pod(subject, pod)
        yield
