"""The number of pods for which there is room."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from scale_tests.cluster import capacity as capacities
from scale_tests.cluster import environment as environments
from scale_tests.cluster.capacity import capacity, make_room, shortage
from scale_tests.cluster.environment import Environment, from_variables
from scale_tests.cluster.kube import Cluster
from scale_tests.localkube import memory
from scale_tests.localkube.memory import Memory

LOCAL = from_variables({})
ELSEWHERE = from_variables({"KUBECONFIG": "own"}, pushing=False)


@dataclass
class Api:
    """Two nodes, of 250 pods each unless a test sets other limits, and a few pods."""

    limits: list[int] = field(default_factory=lambda: [250, 250])

    def list(self, path: str) -> list[dict[str, Any]]:
        if path == "api/v1/nodes":
            return [{"status": {"allocatable": {"pods": str(limit)}}} for limit in self.limits]
        return [
            {"status": {"phase": phase}, "metadata": {"namespace": namespace}}
            for phase, namespace in (("Running", "a"), ("Pending", "b"), ("Succeeded", "b"))
        ]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    """One local machine whose memory holds a thousand pods, and which takes 250 so far."""
    api = Api(limits=[250])

    def bring_up(option: str, pods: str) -> None:
        assert option == "--max-pods"
        api.limits = [int(pods)]

    def connect(_kubeconfig: Path) -> Cluster:
        return cast(Cluster, api)

    monkeypatch.setattr(capacities, "Cluster", connect)
    monkeypatch.setattr(environments, "bring_up_local", bring_up)
    monkeypatch.setattr(memory, "of_machine", lambda: Memory(machine_mib=24576, zram_mib=0))
    return api


def test_there_is_room_for_the_pods_that_machines_accept_and_do_not_run() -> None:
    found = capacity(cast(Cluster, Api()))
    assert (found.limit, found.taken, found.free) == (500, 2, 498)


def test_a_namespace_may_be_left_out() -> None:
    assert capacity(cast(Cluster, Api()), besides="a").free == 499


@pytest.mark.parametrize(("pods", "limit"), [(100, 250), (512, 513), (1024, 1000)])
def test_a_local_cluster_takes_more_pods_as_far_as_memory_holds_them(
    api: Api, pods: int, limit: int
) -> None:
    make_room(LOCAL, pods, besides="b")
    assert api.limits == [limit]


@pytest.mark.parametrize("environment", [LOCAL, ELSEWHERE], ids=["local", "elsewhere"])
def test_a_chosen_limit_is_not_lowered_nor_another_cluster_changed(
    api: Api, environment: Environment
) -> None:
    api.limits = [1100] if environment.local else [250]
    before = list(api.limits)
    make_room(environment, 1024, besides="b")
    assert api.limits == before


@pytest.mark.usefixtures("api")
def test_a_shortage_names_its_remedy() -> None:
    found = capacity(cast(Cluster, Api(limits=[250])))
    assert shortage(ELSEWHERE, found, 256) == "the cluster has room for 248 more pods"
    assert shortage(LOCAL, found, 256).endswith("--max-pods 258` makes more")
    assert "hold 1,000 pods" in shortage(LOCAL, found, 1024)
