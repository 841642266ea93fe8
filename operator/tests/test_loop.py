"""A cluster's loop, round after round: from a spec to its run, and from one spec to the next."""

import asyncio
import time
from dataclasses import replace

import pytest

from loop_rig import CLUSTER, NAMESPACE, SECRET, SET, Rig
from partisan_operator import loop
from partisan_operator.loop import ClusterLoop
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.scraper import RefusedError, ScrapeError
from partisan_operator.schedule.pace import LEAST_PAUSE, least_pause
from partisan_operator.status.announcements import Announcement
from partisan_operator.status.audience import Audience


async def test_from_a_spec_to_a_run_that_converged(rig: Rig) -> None:
    assert await rig.reconcile() == rig.tools.settings.active_period
    assert rig.status["phase"] == "Pending"
    assert SECRET in rig.api.objects
    rig.bring_up_pods()
    rig.nodes.run = rig.status["workload"]["run"]
    await rig.reconcile()
    ((_, token, run),) = rig.nodes.started
    assert len(token) == 64
    assert run == rig.nodes.run
    await rig.reconcile()
    assert rig.status["phase"] == "Running"
    rig.nodes.phase = "finished"
    assert await rig.reconcile() == rig.tools.settings.idle_period
    assert rig.status["phase"] == "Converged"
    assert (rig.status["workload"]["value"], rig.status["workload"]["incrementsSum"]) == (6, 6)
    assert rig.events() == ["OverlayFormed", "RunStarted", "RunConverged"]


@pytest.mark.parametrize(
    ("computed", "nodes", "settled", "seconds"),
    [
        (0.01, 3, False, LEAST_PAUSE),
        # A large cluster changes continuously while it forms; its nodes are busy.
        (0.8, 1024, False, 5.12),
        # The operator computes at most half of the time, a fifth if settled.
        (8.0, 1024, False, 8.0),
        (2.0, 1024, True, 8.0),
    ],
)
def test_a_loop_pauses_longer_the_more_a_reconcile_computes(
    computed: float, nodes: int, settled: bool, seconds: float
) -> None:
    assert least_pause(computed, nodes=nodes, settled=settled) == pytest.approx(seconds)


async def test_work_for_other_clusters_does_not_make_a_loop_sleep(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    burnt, measured = 0.5, asyncio.get_running_loop().create_future()

    async def observe_while_others_compute() -> float:
        await asyncio.create_task(compute())
        return 1.0

    async def compute() -> None:
        began = time.thread_time()
        while time.thread_time() - began < burnt:
            pass

    def record(computed: float, **_: object) -> float:
        measured.set_result(computed)
        return 1000.0

    monkeypatch.setattr(rig.loop, "_reconcile", observe_while_others_compute)
    monkeypatch.setattr(loop, "least_pause", record)
    task = asyncio.create_task(rig.loop.run())
    assert await measured < burnt
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_settled_cluster_is_not_written_to(rig: Rig) -> None:
    await rig.converge()
    before = rig.api.writes
    for _ in range(3):
        await rig.reconcile()
    rig.make_resync_due()
    await rig.reconcile()
    assert rig.api.writes == before


async def test_an_operator_that_takes_over_changes_nothing(rig: Rig) -> None:
    await rig.converge()
    before = rig.api.writes
    await ClusterLoop("default", "ads", rig.tools)._reconcile()
    assert rig.api.writes == before


async def test_the_token_is_never_replaced_and_never_logged(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await rig.converge()
    token = rig.api.objects[SECRET]["data"]["bearer"]
    rig.api.objects[CLUSTER]["metadata"]["generation"] = 2
    await rig.reconcile()
    assert rig.api.objects[SECRET]["data"]["bearer"] == token
    assert rig.nodes.started[0][1] not in caplog.text
    assert token not in caplog.text


async def test_a_run_is_started_through_another_node_when_one_refuses(rig: Rig) -> None:
    rig.nodes.refuse = {"ads-0", "ads-1"}
    await rig.converge()
    assert {pod for pod, _, _ in rig.nodes.started} == {"ads-2"}


async def test_running_nodes_are_sent_their_configuration(rig: Rig) -> None:
    await rig.converge()
    template = rig.api.objects[SET]["spec"]["template"]
    rig.change({"overlay": {"kind": "Cyclon"}})
    assert await rig.reconcile() == rig.tools.settings.active_period
    assert [pod for pod, _ in rig.nodes.configured] == ["ads-0", "ads-1", "ads-2"]
    assert {token for _, token in rig.nodes.configured} == {rig.nodes.started[0][1]}
    assert (rig.status["phase"], rig.status["overlay"]["kind"]) == ("Updating", "HyParView")
    await rig.reconcile()
    assert (rig.status["phase"], rig.status["overlay"]["kind"]) == ("Converged", "Cyclon")
    assert len(rig.nodes.configured) == 3
    path = f"/api/v1{NAMESPACE}/configmaps/ads-config"
    assert rig.api.objects[path]["data"]["node.config"] == rig.nodes.configuration
    assert rig.api.objects[SET]["spec"]["template"] == template


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RefusedError("ads-1: overlay must be something else"), "ConfigurationRefused"),
        (ScrapeError("ads-1: no route to host"), "AsExpected"),
    ],
)
async def test_nodes_that_do_not_follow_are_sent_the_configuration_again(
    rig: Rig, error: ScrapeError, reason: str
) -> None:
    await rig.converge()
    rig.nodes.refusal = error
    rig.change({"overlay": {"kind": "Cyclon"}})
    await rig.reconcile()
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == reason
    assert ("overlay must be something else" in degraded["message"]) == (reason != "AsExpected")
    rig.nodes.refusal = None
    await rig.reconcile()
    await rig.reconcile()
    assert len(rig.nodes.configured) == 6
    assert rig.status["phase"] == "Converged"


async def test_an_older_crd_gets_the_fields_that_it_has(rig: Rig) -> None:
    rig.api.undeclared = ("observedAt", "folded", "module")
    await rig.converge()
    assert rig.status["phase"] == "Converged"
    assert rig.status["workload"]["value"] == 6
    assert not {"observedAt", "folded", "module"} & rig.status["workload"].keys()
    before = rig.api.writes
    await rig.reconcile()
    assert rig.api.writes == before


async def test_a_cluster_that_is_being_deleted_is_left_to_the_garbage_collector(rig: Rig) -> None:
    rig.api.objects[CLUSTER]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    await rig.reconcile()
    assert rig.api.writes == 0


class Recorder(Audience):
    """An audience that remembers what it received."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def observed(
        self, cluster: PartisanCluster, status: PartisanClusterStatus, observation: Observation
    ) -> None:
        self.heard.append(f"observed {status.phase}")

    def failed(self, cluster: PartisanCluster, status: PartisanClusterStatus) -> None:
        self.heard.append(f"failed {status.phase}")

    def announced(self, cluster: PartisanCluster, announcement: Announcement) -> None:
        self.heard.append(announcement.reason)

    def forgotten(self, namespace: str, name: str) -> None:
        self.heard.append(f"forgotten {namespace}/{name}")

    def pause(self, cluster: PartisanCluster, pause: float, elapsed: float) -> float:
        assert elapsed > 0
        return pause / 2

    def watches(self, cluster: PartisanCluster) -> bool:
        return True


async def test_an_audience_receives_what_a_loop_finds_out_and_sets_its_pace(rig: Rig) -> None:
    audience = Recorder()
    made = ClusterLoop("default", "ads", replace(rig.tools, audience=audience))
    assert not rig.nodes.traffic
    assert await made._reconcile() == rig.tools.settings.active_period / 2
    assert rig.nodes.traffic
    rig.bring_up_pods()
    await made._reconcile()
    rig.change({"overlay": {"kind": "None such"}})
    await made._reconcile()
    del rig.api.objects[CLUSTER]
    await made._reconcile()
    assert audience.heard == [
        "observed Pending",
        "observed Ready",
        "OverlayFormed",
        "failed Degraded",
        "InvalidSpec",
        "forgotten default/ads",
    ]
