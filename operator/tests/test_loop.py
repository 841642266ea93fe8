"""A cluster's loop against an API server in memory: the whole round, with the real client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from fake_api import FakeApi
from partisan_operator import loop as loop_module
from partisan_operator import metrics
from partisan_operator.children.node_config import render_config
from partisan_operator.execute import Executor
from partisan_operator.kube import Kube
from partisan_operator.loop import ClusterLoop, Tools
from partisan_operator.observe.observation import Endpoint, Seen
from partisan_operator.observe.observer import Observer
from partisan_operator.observe.scraper import RefusedError, ScrapeError
from partisan_operator.settings import Settings
from partisan_operator.supervisor import Supervisor
from world import START, cluster, followed, report

NAMESPACE = "/namespaces/default"
CLUSTER = f"/apis/partisan.dev/v1alpha1{NAMESPACE}/partisanclusters/ads"
SET = f"/apis/apps/v1{NAMESPACE}/statefulsets/ads"
SLICE = f"/apis/discovery.k8s.io/v1{NAMESPACE}/endpointslices/ads-x"
EVENTS = f"/api/v1{NAMESPACE}/events"
SECRET = f"/api/v1{NAMESPACE}/secrets/ads-token"
MANIFEST: dict[str, Any] = {
    "apiVersion": "partisan.dev/v1alpha1",
    "kind": "PartisanCluster",
    "metadata": {"name": "ads", "namespace": "default"},
    "spec": {"replicas": 3, "workload": {"adCounter": {"impressions": 6}}},
}


@dataclass
class FakeNodes:
    """Takes the scraper's place: nodes of a ring, each with a phase of its workload."""

    phase: str = "waiting"
    run: str = ""
    started: list[tuple[str, str, str]] = field(default_factory=list)
    refuse: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    """Who does not answer when asked."""

    configuration: str = render_config(cluster(MANIFEST["spec"]))
    """What all of them follow."""

    told: list[tuple[str, str]] = field(default_factory=list)
    """Who was sent a configuration, with which token."""

    refusal: ScrapeError | None = None
    """What those who are told answer."""

    async def scrape(self, endpoints: Iterable[Endpoint]) -> tuple[dict[str, Seen], dict[str, str]]:
        pods = list(endpoints)
        part = {
            "run": self.run,
            "phase": self.phase,
            "increments": 2,
            "value": 6,
            "digest": "d",
            "converged": self.phase == "finished",
            "started_at": None if self.phase == "waiting" else START.timestamp(),
        }
        return {
            pod.pod: Seen(
                report(
                    pod.pod,
                    active=(pods[index - 1].pod,),
                    workload=part | {"actor": f"{pod.pod}/1"},
                    **followed(self.configuration),
                ),
                pod.uid,
                START,
            )
            for index, pod in enumerate(pods)
            if pod.pod not in self.silent
        }, dict.fromkeys(self.silent, "no answer")

    async def configure(self, endpoint: Endpoint, token: str, text: str) -> None:
        self.told.append((endpoint.pod, token))
        if self.refusal is not None:
            raise self.refusal
        self.configuration = text

    async def start_run(self, endpoint: Endpoint, token: str, run: str) -> None:
        if endpoint.pod in self.refuse:
            raise ScrapeError("no")
        self.started.append((endpoint.pod, token, run))
        self.phase = "running"


@dataclass
class Rig:
    """A loop with all that it needs."""

    api: FakeApi
    nodes: FakeNodes
    loop: ClusterLoop
    tools: Tools

    async def look(self) -> float | None:
        """Do one round."""
        return await self.loop._look_and_act()

    def bring_up_pods(self, *, ready: bool = True) -> None:
        """Do the work of the StatefulSet and EndpointSlice controllers."""
        live = self.api.objects[SET]
        wanted = live["spec"]["replicas"]
        live["status"] = {
            "observedGeneration": live["metadata"]["generation"],
            "replicas": wanted,
            "readyReplicas": wanted if ready else 0,
            "updatedReplicas": wanted,
            "updateRevision": "r",
        }
        endpoints = [
            {
                "addresses": [f"10.0.0.{ordinal}"],
                "conditions": {"ready": True, "serving": ready},
                "targetRef": {"kind": "Pod", "name": f"ads-{ordinal}", "uid": f"pod-{ordinal}"},
            }
            for ordinal in range(wanted)
        ]
        labels = {"partisan.dev/cluster": "ads"}
        self.api.put(
            SLICE, {"metadata": {"name": "ads-x", "labels": labels}, "endpoints": endpoints}
        )

    @property
    def status(self) -> dict[str, Any]:
        """The status that was written last."""
        found: dict[str, Any] = self.api.objects[CLUSTER]["status"]
        return found

    def condition(self, kind: str) -> dict[str, Any]:
        """Return one condition of it."""
        return next(entry for entry in self.status["conditions"] if entry["type"] == kind)

    def events(self) -> list[str]:
        """Return the reasons of the Events written so far."""
        return [item["reason"] for path, item in self.api.objects.items() if EVENTS in path]


def assemble(kube: Kube, nodes: FakeNodes) -> Tools:
    settings = Settings(node_image="node:1")
    observer = Observer(kube, nodes, lambda: START)  # type: ignore[arg-type]
    executor = Executor(kube, nodes, observer)  # type: ignore[arg-type]
    return Tools(kube, observer, executor, settings)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    api, nodes = FakeApi(), FakeNodes()
    tools = assemble(await api.start(), nodes)
    api.put(CLUSTER, MANIFEST)
    yield Rig(api, nodes, ClusterLoop("default", "ads", tools), tools)
    await api.stop()


async def converge(rig: Rig) -> None:
    """Take a cluster from its creation to the end of its run."""
    await rig.look()
    rig.bring_up_pods()
    rig.nodes.run = rig.status["workload"]["run"]
    await rig.look()
    await rig.look()
    rig.nodes.phase = "finished"
    await rig.look()


async def test_from_a_spec_to_a_run_that_converged(rig: Rig) -> None:
    assert await rig.look() == rig.tools.settings.active_period
    assert rig.status["phase"] == "Pending"
    assert SECRET in rig.api.objects
    rig.bring_up_pods()
    rig.nodes.run = rig.status["workload"]["run"]
    await rig.look()
    ((_, token, run),) = rig.nodes.started
    assert len(token) == 64
    assert run == rig.nodes.run
    await rig.look()
    assert rig.status["phase"] == "Running"
    rig.nodes.phase = "finished"
    assert await rig.look() == rig.tools.settings.idle_period
    assert rig.status["phase"] == "Converged"
    assert (rig.status["workload"]["value"], rig.status["workload"]["incrementsSum"]) == (6, 6)
    assert rig.events() == ["OverlayFormed", "RunStarted", "RunConverged"]


async def test_a_settled_cluster_is_not_written_to(rig: Rig) -> None:
    await converge(rig)
    before = rig.api.writes
    for _ in range(3):
        await rig.look()
    rig.loop._looked_at_all = float("-inf")
    await rig.look()
    assert rig.api.writes == before


def lists(rig: Rig) -> list[str]:
    """Return the kinds that were listed, in the plural, one for each list."""
    return sorted(
        request.path.rpartition("/")[2]
        for request in rig.api.log
        if request.method == "GET" and request.path not in rig.api.objects
    )


async def settle(rig: Rig) -> None:
    """Take a cluster to where nothing is left to be done, and forget the requests."""
    await converge(rig)
    while not rig.loop._at_rest:
        await rig.look()
    rig.loop._woken.clear()
    rig.api.log.clear()


async def test_of_a_settled_cluster_nothing_is_listed_until_a_resync(rig: Rig) -> None:
    await settle(rig)
    for _ in range(3):
        await rig.look()
    assert lists(rig) == []
    rig.loop._looked_at_all = float("-inf")
    await rig.look()
    assert lists(rig) == [
        "configmaps",
        "endpointslices",
        "networkpolicies",
        "poddisruptionbudgets",
        "podmonitors",
        "services",
        "statefulsets",
    ]


async def test_a_change_of_a_child_has_the_pods_looked_at_once_more(rig: Rig) -> None:
    await settle(rig)
    rig.loop.wake()
    await rig.look()
    await rig.look()
    assert lists(rig) == ["endpointslices", "statefulsets"]


async def test_pods_are_looked_at_until_statefulset_and_addresses_agree(rig: Rig) -> None:
    await settle(rig)
    serving = rig.api.objects[SLICE]["endpoints"][1]["conditions"]
    serving["serving"] = False
    rig.loop.wake()
    await rig.look()
    serving["serving"] = True
    await rig.look()
    await rig.look()
    assert lists(rig) == ["endpointslices"] * 2 + ["statefulsets"] * 2


async def test_a_node_that_does_not_answer_is_looked_for(rig: Rig) -> None:
    await settle(rig)
    rig.nodes.silent = {"ads-1"}
    await rig.look()
    assert lists(rig) == []
    await rig.look()
    assert lists(rig) == ["endpointslices", "statefulsets"]


async def test_a_look_that_failed_leaves_open_what_is_there(rig: Rig) -> None:
    await settle(rig)
    rig.loop._looked_at_all = float("-inf")
    rig.api.failure = (503, "away")
    with pytest.raises(loop_module.KubeError):
        await rig.look()
    rig.api.failure = None
    await rig.look()
    assert "statefulsets" in lists(rig)


async def test_an_operator_that_takes_over_changes_nothing(rig: Rig) -> None:
    await converge(rig)
    before = rig.api.writes
    await ClusterLoop("default", "ads", rig.tools)._look_and_act()
    assert rig.api.writes == before


async def test_the_token_is_never_replaced_and_never_logged(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await converge(rig)
    token = rig.api.objects[SECRET]["data"]["token"]
    rig.api.objects[CLUSTER]["metadata"]["generation"] = 2
    await rig.look()
    assert rig.api.objects[SECRET]["data"]["token"] == token
    assert rig.nodes.started[0][1] not in caplog.text
    assert token not in caplog.text


async def test_a_run_is_started_through_another_node_when_one_refuses(rig: Rig) -> None:
    rig.nodes.refuse = {"ads-0", "ads-1"}
    await converge(rig)
    assert {pod for pod, _, _ in rig.nodes.started} == {"ads-2"}


async def test_running_nodes_are_told_what_they_have_to_follow(rig: Rig) -> None:
    await converge(rig)
    template = rig.api.objects[SET]["spec"]["template"]
    change(rig, {"overlay": {"kind": "Cyclon"}})
    assert await rig.look() == rig.tools.settings.active_period
    assert [pod for pod, _ in rig.nodes.told] == ["ads-0", "ads-1", "ads-2"]
    assert {token for _, token in rig.nodes.told} == {rig.nodes.started[0][1]}
    assert (rig.status["phase"], rig.status["overlay"]["kind"]) == ("Updating", "HyParView")
    await rig.look()
    assert (rig.status["phase"], rig.status["overlay"]["kind"]) == ("Converged", "Cyclon")
    assert len(rig.nodes.told) == 3
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
async def test_nodes_that_do_not_follow_are_told_again(
    rig: Rig, error: ScrapeError, reason: str
) -> None:
    await converge(rig)
    rig.nodes.refusal = error
    change(rig, {"overlay": {"kind": "Cyclon"}})
    await rig.look()
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == reason
    assert ("overlay must be something else" in degraded["message"]) == (reason != "AsExpected")
    rig.nodes.refusal = None
    await rig.look()
    await rig.look()
    assert len(rig.nodes.told) == 6
    assert rig.status["phase"] == "Converged"


def change(rig: Rig, spec: dict[str, Any]) -> None:
    """Edit the cluster as a user would."""
    live = rig.api.objects[CLUSTER]
    live["spec"] = {**live["spec"], **spec}
    live["metadata"]["generation"] = 2


async def test_a_refused_scale_down_is_told_once_and_changes_nothing(rig: Rig) -> None:
    await converge(rig)
    edges = {"kind": "Static", "static": {"edges": [[0, 0], [1, 1]]}}
    change(rig, {"replicas": 2, "overlay": edges})
    children = {path: item for path, item in rig.api.objects.items() if path != CLUSTER}
    for _ in range(2):
        assert await rig.look() == rig.tools.settings.active_period
    assert children.items() <= rig.api.objects.items()
    assert rig.nodes.told == []
    assert rig.events()[-1] == "ScaleDownRefused"
    assert rig.events().count("ScaleDownRefused") == 1
    assert rig.status["phase"] == "Degraded"
    assert rig.condition("Degraded")["reason"] == "ScaleDownRefused"
    progressing = rig.condition("Progressing")
    assert (progressing["status"], progressing["reason"]) == ("False", "ScaleDownRefused")
    rig.api.objects[CLUSTER]["spec"]["overlay"]["static"]["edges"] = [[0, 1]]
    rig.api.objects[CLUSTER]["metadata"]["generation"] = 3
    await rig.look()
    assert rig.api.objects[SET]["spec"]["replicas"] == 2
    assert rig.events()[-2:] == ["Scaled", "Recovered"]


async def test_a_cluster_that_insists_on_a_pod_monitor_says_that_there_can_be_none(
    rig: Rig,
) -> None:
    await converge(rig)
    change(rig, {"metrics": {"podMonitor": "Enabled"}})
    for _ in range(2):
        await rig.look()
    assert rig.condition("Degraded")["reason"] == "PodMonitorUnavailable"
    assert "Install the Prometheus operator" in rig.condition("Degraded")["message"]
    assert rig.events().count("PodMonitorUnavailable") == 1
    rig.api.unserved.clear()
    rig.loop._looked_at_all = float("-inf")
    await rig.look()
    await rig.look()
    path = f"/apis/monitoring.coreos.com/v1{NAMESPACE}/podmonitors/ads-nodes"
    assert path in rig.api.objects
    assert rig.status["phase"] == "Converged"
    assert rig.events()[-1] == "Recovered"


async def test_a_definition_of_before_is_told_what_it_knows(rig: Rig) -> None:
    rig.api.undeclared = ("observedAt", "folded", "module")
    await converge(rig)
    assert rig.status["phase"] == "Converged"
    assert rig.status["workload"]["value"] == 6
    assert not {"observedAt", "folded", "module"} & rig.status["workload"].keys()
    before = rig.api.writes
    await rig.look()
    assert rig.api.writes == before


async def test_drift_is_repaired_while_a_scale_down_is_refused(rig: Rig) -> None:
    await converge(rig)
    edges = {"kind": "Static", "static": {"edges": [[0, 0], [1, 1]]}}
    change(rig, {"replicas": 2, "overlay": edges})
    await rig.look()
    service = f"/api/v1{NAMESPACE}/services/ads"
    before = rig.api.objects[service]["spec"], rig.api.objects[SET]["spec"]
    del rig.api.objects[service]
    rig.api.objects[SET]["spec"] = before[1] | {"serviceName": "another"}
    rig.loop._looked_at_all = float("-inf")
    await rig.look()
    assert (rig.api.objects[service]["spec"], rig.api.objects[SET]["spec"]) == before
    assert rig.condition("Degraded")["reason"] == "ScaleDownRefused"
    assert rig.nodes.told == []


async def test_a_child_that_somebody_deleted_is_back_after_a_resync(rig: Rig) -> None:
    await converge(rig)
    service = f"/api/v1{NAMESPACE}/services/ads"
    del rig.api.objects[service]
    await rig.look()
    assert service not in rig.api.objects
    rig.loop._looked_at_all = float("-inf")
    await rig.look()
    assert service in rig.api.objects


async def test_an_object_of_somebody_else_is_left_alone_and_told(rig: Rig) -> None:
    foreign = {"kind": "ConfigMap", "metadata": {"name": "ads-config"}, "data": {"a": "b"}}
    path = f"/api/v1{NAMESPACE}/configmaps/ads-config"
    rig.api.put(path, foreign)
    await rig.look()
    assert rig.api.objects[path]["data"] == {"a": "b"}
    assert SET not in rig.api.objects
    assert rig.condition("Degraded")["reason"] == "NameConflict"


async def test_what_the_api_server_refuses_is_told(rig: Rig) -> None:
    async def refuse(action: object) -> None:
        raise loop_module.KubeError(422, "spec.affinity: nonsense")

    rig.tools.kube.apply = refuse  # type: ignore[method-assign]
    await rig.look()
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == "ApplyFailed"
    assert "spec.affinity: nonsense" in degraded["message"]


async def test_an_image_that_cannot_be_pulled_is_told(rig: Rig) -> None:
    await rig.look()
    rig.bring_up_pods(ready=False)
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}
    pod = {"metadata": {"name": "ads-1"}, "status": {"containerStatuses": [waiting]}}
    rig.api.put(f"/api/v1{NAMESPACE}/pods/ads-1", pod)
    await rig.look()
    assert rig.status["phase"] == "Degraded"
    assert "Pod ads-1" in rig.condition("Degraded")["message"]
    assert rig.events() == ["ImagePullFailed"]


async def test_a_problem_is_told_although_the_last_operator_s_clock_was_ahead(rig: Rig) -> None:
    await rig.look()
    rig.bring_up_pods(ready=False)
    rig.condition("Ready")["lastTransitionTime"] = "2026-01-01T05:00:00Z"
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}
    pod = {"metadata": {"name": "ads-1"}, "status": {"containerStatuses": [waiting]}}
    rig.api.put(f"/api/v1{NAMESPACE}/pods/ads-1", pod)
    await rig.look()
    assert rig.condition("Degraded")["reason"] == "ImagePullFailed"


async def test_pods_that_a_quota_forbids_are_told_and_tried_again(rig: Rig) -> None:
    await rig.look()
    rig.api.objects[SET]["status"] = {"observedGeneration": 1, "replicas": 0}
    failure = 'Create Pod ads-0 in StatefulSet ads failed error: pods "ads-0" is forbidden: '
    event = {
        "metadata": {"name": "e"},
        "reason": "FailedCreate",
        "lastTimestamp": "2026-01-01T00:00:05Z",
        "message": f"{failure}exceeded quota: q",
    }
    rig.api.put(f"{EVENTS}/e", event)
    await rig.look()
    assert rig.condition("Degraded")["reason"] == "QuotaExceeded"
    assert "partisan.dev/nudged-at" in rig.api.objects[SET]["metadata"]["annotations"]


async def test_a_cluster_that_is_being_deleted_is_left_to_the_garbage_collector(rig: Rig) -> None:
    rig.api.objects[CLUSTER]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    await rig.look()
    assert rig.api.writes == 0


async def test_a_loop_ends_with_its_cluster_and_outlives_errors(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loop_module, "LEAST_PAUSE", 0.0)
    monkeypatch.setattr(loop_module, "_FIRST_BACKOFF", 0.001)
    rig.api.failure = (503, "away")
    supervisor = Supervisor(rig.tools)
    supervisor.wake("default", "ads")
    supervisor.wake("default", "ads")
    await until(lambda: rig.api.requests["GET"] >= 3)
    assert "away" in caplog.text
    assert supervisor.stuck() == []
    rig.api.failure = None
    await until(lambda: "status" in rig.api.objects[CLUSTER])
    wanted = "partisan_operator_cluster_nodes_wanted"
    labels = {"namespace": "default", "partisan_cluster": "ads"}
    assert metrics.registry.get_sample_value(wanted, labels) == 3
    del rig.api.objects[CLUSTER]
    supervisor.wake("default", "ads")
    await until(lambda: not supervisor._entries)
    assert metrics.registry.get_sample_value(wanted, labels) is None


async def test_a_look_that_does_not_end_is_stuck(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partisan_operator.supervisor.STUCK_AFTER", -1.0)
    asked, blocked = asyncio.Event(), asyncio.Event()

    async def hang(*_: object) -> None:
        asked.set()
        await blocked.wait()

    rig.tools.kube.get = hang  # type: ignore[method-assign,assignment]
    supervisor = Supervisor(rig.tools)
    supervisor.wake("default", "ads")
    await asked.wait()
    assert supervisor.stuck() == ["default/ads"]
    await supervisor.stop()


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until the condition holds."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 (the world under test sets no event)
            await asyncio.sleep(0.001)
