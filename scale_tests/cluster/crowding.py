"""A namespace in which no pod is replaced for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from scale_tests.cluster.kube import core
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import wait_for


@contextmanager
def crowded(subject: Subject) -> Iterator[None]:
    """Keeps pods that end from being replaced while the block runs. Raises ApiError, StalledError.

    By a quota for all pods of the namespace: nothing else can start there either.
    """
    pods = core(subject.namespace, "pods")
    quotas = core(subject.namespace, "resourcequotas")
    quota = f"{quotas}/crowded"
    hard = {"pods": str(len(subject.cluster.list(pods)) - 1)}
    subject.cluster.create(quotas, {"metadata": {"name": "crowded"}, "spec": {"hard": hard}})
    try:
        # A quota without a status refuses nothing.
        wait_for(
            "the quota in force",
            lambda: subject.cluster.get(quota).get("status", {}).get("hard"),
            lambda found: found == hard,
        )
        yield
    finally:
        subject.cluster.delete(quota)
        # Its controller waits longer after each attempt; a change of the StatefulSet wakes it.
        subject.cluster.patch(
            f"apis/apps/v1/namespaces/{subject.namespace}/statefulsets/{subject.name}",
            {"metadata": {"annotations": {"partisan.dev/crowded": "no more"}}},
        )
