"""A fault that lasts: a chain of nodes, of which one in the middle is kept away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scale_tests.cluster.kube import Json, core
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
    """Kills a pod, and prevents its replacement until the end. Raises ApiError.

    It takes a quota for all pods of the namespace: nothing else can start there either.
    """
    quotas = core(subject.namespace, "resourcequotas")
    present = len(subject.cluster.list(core(subject.namespace, "pods")))
    quota = {"metadata": {"name": "kept-away"}, "spec": {"hard": {"pods": str(present - 1)}}}
    subject.cluster.create(quotas, quota)
    try:
        kill_pod(subject, pod)
        yield
    finally:
        subject.cluster.delete(f"{quotas}/kept-away")
        # Its controller waits longer after each attempt; a change of the StatefulSet wakes it.
        subject.cluster.patch(
            f"apis/apps/v1/namespaces/{subject.namespace}/statefulsets/{subject.name}",
            {"metadata": {"annotations": {"partisan.dev/kept-away": "no more"}}},
        )
