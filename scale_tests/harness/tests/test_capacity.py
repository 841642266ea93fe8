"""How many pods there is room for."""

from __future__ import annotations

from typing import Any, cast

from scale_tests.harness.capacity import capacity
from scale_tests.harness.kube import Cluster


class Api:
    """Two machines of 250 pods each, and a pod in each phase."""

    def list(self, path: str) -> list[dict[str, Any]]:
        if path == "api/v1/nodes":
            return [{"status": {"allocatable": {"pods": "250"}}}] * 2
        return [
            {"status": {"phase": phase}, "metadata": {"namespace": namespace}}
            for phase, namespace in (("Running", "a"), ("Pending", "b"), ("Succeeded", "b"))
        ]


def test_there_is_room_for_the_pods_that_machines_accept_and_do_not_run() -> None:
    found = capacity(cast(Cluster, Api()))
    assert (found.limit, found.taken, found.free) == (500, 2, 498)
    assert "--max-pods 502`" in found.advice(500)


def test_a_namespace_may_be_left_out() -> None:
    assert capacity(cast(Cluster, Api()), besides="a").free == 499
