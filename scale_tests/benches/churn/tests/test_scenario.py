"""Faults of a scenario, its size and duration, and scenarios that are refused."""

import threading
from pathlib import Path

import pytest

from scale_tests.benches.churn.cli import BENCH
from scale_tests.benches.churn.faults import FaultError, Faults
from scale_tests.benches.churn.scenario import Scenario
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json
from scale_tests.cluster.subject import Subject


class Pods(Cluster):
    """An API server with some pods, which records deletions."""

    def __init__(self, count: int) -> None:
        self.names = [f"churn-{index}" for index in range(count)]
        self.deleted: list[dict[str, str]] = []

    def list(self, path: str, selector: str = "") -> list[Json]:
        """The EndpointSlices of the pods."""
        entries = [
            {"targetRef": {"kind": "Pod", "name": name}, "addresses": [f"192.0.2.{index + 1}"]}
            for index, name in enumerate(self.names)
        ]
        return [{"endpoints": entries}, {"endpoints": None}]

    def delete(self, path: str, **query: str) -> None:
        """Notes it."""
        self.deleted.append(query)


def faults(cluster: Cluster, *, local: bool = False, seed: int = 1) -> Faults:
    environment = Environment(
        kubeconfig=Path("none"),
        local=local,
        operator_image="",
        node_image="",
        prometheus_image="",
    )
    return Faults(Subject(environment, cluster, "namespace", "churn"), seed=seed)


def test_the_same_seed_kills_the_same_pods() -> None:
    first, again = faults(Pods(10)), faults(Pods(10))
    assert [first.draw(0.3), first.draw(0.5)] == [again.draw(0.3), again.draw(0.5)]


def test_a_share_is_rounded_down_and_hits_one_at_least() -> None:
    assert [len(faults(Pods(10)).draw(share)) for share in (0.01, 0.35, 1)] == [1, 3, 10]


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(FaultError, match="choose one above 0 and at most 1"):
        faults(Pods(10)).draw(share)


def test_pods_are_deleted_in_one_request_without_grace() -> None:
    cluster = Pods(4)
    faults(cluster).kill(("churn-1", "churn-3"))
    [query] = cluster.deleted
    assert query["gracePeriodSeconds"] == "0"
    assert query["labelSelector"] == "statefulset.kubernetes.io/pod-name in (churn-1,churn-3)"


def test_a_kill_that_fails_ends_the_churn_with_its_error() -> None:
    churn = faults(Pods(0)).churn(60_000.0)
    churn.__enter__()
    # It may have failed by now.
    for thread in [thread for thread in threading.enumerate() if thread.name == "repeating"]:
        thread.join()
    with pytest.raises(FaultError, match="namespace/churn has no pods"):
        churn.__exit__(None, None, None)


def test_a_cluster_elsewhere_is_not_partitioned() -> None:
    with pytest.raises(FaultError, match="KUBECONFIG cannot be partitioned from here"):
        faults(Pods(4)).partition().__enter__()


def test_one_pod_has_no_other_side() -> None:
    with pytest.raises(FaultError, match="has 1 pods: a partition takes two"):
        faults(Pods(1), local=True).partition().__enter__()


def test_the_counter_is_at_it_until_the_last_fault_is_over() -> None:
    scenario = Scenario(nodes=256)
    counter = scenario.manifest("churn")["spec"]["workload"]["adCounter"]
    counting = counter["impressions"] / scenario.nodes * scenario.pace[0]
    faults = scenario.calm_seconds + scenario.churn_seconds + scenario.partition_seconds
    assert faults < counting < 15 * 60


def test_many_nodes_count_as_published() -> None:
    def pace(nodes: int) -> tuple[str, str]:
        counter = Scenario(nodes=nodes).manifest("churn")["spec"]["workload"]["adCounter"]
        return counter["incrementInterval"], counter["propagationInterval"]

    assert (pace(64), pace(256)) == (("2s", "1s"), ("10s", "5s"))


def test_a_network_that_cannot_be_cut_is_a_fault_less() -> None:
    whole, uncut = Scenario(nodes=16), Scenario(nodes=16, partition_seconds=0)
    assert (whole.faults, uncut.faults) == (5, 4)
    assert uncut.counting_seconds < whole.counting_seconds


def test_small_clusters_see_churn_too() -> None:
    assert Scenario(nodes=16).churn_per_minute == 4
    assert Scenario(nodes=1000).churn_per_minute == 10


def test_a_size_that_cannot_work_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        BENCH.main(["--nodes", "3"])
    assert "argument --nodes: '3' is no number of nodes from 4 to 1024" in capsys.readouterr().err
