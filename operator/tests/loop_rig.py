"""A cluster's loop with the real client, and an API server and nodes in memory."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from fake_api import FakeApi
from partisan_operator.act.executor import Executor
from partisan_operator.api.kube import Kube
from partisan_operator.children.node_config import render_config
from partisan_operator.loop import ClusterLoop
from partisan_operator.observe.observation import Endpoint, Seen
from partisan_operator.observe.observer import Observer
from partisan_operator.observe.scraper import ScrapeError
from partisan_operator.reconciler import Tools
from partisan_operator.settings import Settings
from world import START, cluster, followed, report

NAMESPACE = "/namespaces/default"
CLUSTER = f"/apis/partisan.dev/v1alpha1{NAMESPACE}/partisanclusters/ads"
SET = f"/apis/apps/v1{NAMESPACE}/statefulsets/ads"
SLICE = f"/apis/discovery.k8s.io/v1{NAMESPACE}/endpointslices/ads-x"
EVENTS = f"/api/v1{NAMESPACE}/events"
SECRET = f"/api/v1{NAMESPACE}/secrets/ads-bearer"
MANIFEST: dict[str, Any] = {
    "apiVersion": "partisan.dev/v1alpha1",
    "kind": "PartisanCluster",
    "metadata": {"name": "ads", "namespace": "default"},
    "spec": {"replicas": 3, "workload": {"adCounter": {"impressions": 6}}},
}


@dataclass
class FakeNodes:
    """A scraper of nodes in a ring, each with a phase of its workload."""

    phase: str = "waiting"
    run: str = ""
    started: list[tuple[str, str, str]] = field(default_factory=list)
    refuse: set[str] = field(default_factory=set)
    traffic: bool = False
    """Whether they were asked for their traffic last."""

    silent: set[str] = field(default_factory=set)
    """Nodes that do not answer."""

    configuration: str = render_config(cluster(MANIFEST["spec"]))
    """The configuration that all of them follow."""

    configured: list[tuple[str, str]] = field(default_factory=list)
    """Nodes that were sent a configuration, with the credential."""

    parted: bool = False
    """Whether no node has a link."""

    dissolved: list[tuple[str, str]] = field(default_factory=list)
    """Nodes that the operator notified of the deletion, with the credential."""

    refusal: ScrapeError | None = None
    """The answer to a configuration."""

    async def scrape(
        self, endpoints: Iterable[Endpoint], *, traffic: bool = False
    ) -> tuple[dict[str, Seen], dict[str, str]]:
        pods, self.traffic = list(endpoints), traffic
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
                    active=() if self.parted else (pods[index - 1].pod,),
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
        self.configured.append((endpoint.pod, token))
        if self.refusal is not None:
            raise self.refusal
        self.configuration = text

    async def dissolve(self, endpoint: Endpoint, token: str) -> None:
        if endpoint.pod in self.silent:
            raise ScrapeError("no answer")
        self.dissolved.append((endpoint.pod, token))

    async def start_run(self, endpoint: Endpoint, token: str, run: str) -> None:
        if endpoint.pod in self.refuse:
            raise ScrapeError("no")
        self.started.append((endpoint.pod, token, run))
        self.phase = "running"


@dataclass
class Rig:
    """A loop with its dependencies."""

    api: FakeApi
    nodes: FakeNodes
    loop: ClusterLoop
    tools: Tools

    async def reconcile(self) -> float | None:
        """Do one round."""
        return await self.loop._reconcile()

    async def round(self) -> float | None:
        """Do one round as the loop does: it continues after any error."""
        return await self.loop._attempt()

    async def converge(self) -> None:
        """Take a cluster from its creation to the end of its run."""
        await self.reconcile()
        self.bring_up_pods()
        self.nodes.run = self.status["workload"]["run"]
        await self.reconcile()
        await self.reconcile()
        self.nodes.phase = "finished"
        await self.reconcile()

    def set_clock(self, clock: Callable[[], float]) -> None:
        """Let the loop measure the duration of states by a clock of the test."""
        self.tools = replace(self.tools, clock=clock)
        self.loop = ClusterLoop("default", "ads", self.tools)

    def make_resync_due(self) -> None:
        """Make the next reconcile observe all kinds of children."""
        self.loop._reconciler.coverage.make_resync_due()

    def change(self, spec: dict[str, Any]) -> None:
        """Edit the cluster as a user would."""
        live = self.api.objects[CLUSTER]
        live["spec"] = {**live["spec"], **spec}
        live["metadata"]["generation"] = 2

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
        labels = {"partisan.dev/cluster": "ads", "partisan.dev/shard": "0"}
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

    def event(self, reason: str) -> dict[str, Any]:
        """Return the one Event with that reason."""
        (found,) = (
            item
            for path, item in self.api.objects.items()
            if EVENTS in path and item["reason"] == reason
        )
        return found

    def events(self) -> list[str]:
        """Return the reasons of the Events written so far."""
        return [item["reason"] for path, item in self.api.objects.items() if EVENTS in path]


def assemble(kube: Kube, nodes: FakeNodes) -> Tools:
    """Return the dependencies of a loop."""
    settings = Settings(node_image="node:1")
    observer = Observer(kube, nodes, lambda: START)  # type: ignore[arg-type]
    executor = Executor(kube, nodes, observer)  # type: ignore[arg-type]
    return Tools(kube, observer, executor, nodes, settings)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until the condition holds."""
    async with asyncio.timeout(300):
        while not condition():  # noqa: ASYNC110 (the world under test sets no event)
            await asyncio.sleep(0.001)
