"""The operator is killed after every single write of a create, a scale, a rollout and a delete.

The same holds for the replacement of a cluster's own authority. A run without a kill counts the
writes of a scenario. The scenario is then repeated once for each write: the write takes effect, its
operator gets no answer, and another operator without any state continues. The final state must
equal that of the run without a kill.
"""

import contextlib
import itertools
import os
from collections import Counter
from typing import Any

import pytest

from fake_api import FakeApi, Json
from fake_cluster import AUTHORITY, CERTIFICATE, CLUSTER, FakeCluster
from partisan_operator.act.executor import Executor
from partisan_operator.api.errors import KubeError
from partisan_operator.loop import ClusterLoop
from partisan_operator.observe.certificate_secrets import read_store
from partisan_operator.observe.observer import Observer
from partisan_operator.reconciler import Tools
from partisan_operator.settings import Settings
from world import START

REPLICAS = 4
SPEC: dict[str, Any] = {
    "replicas": REPLICAS,
    "rollout": {"maxUnavailable": 1},
    "workload": {"adCounter": {"impressions": 6}},
}
ROUNDS = 60
STRIDE = 5 if os.environ.get("QUICK") == "1" else 1
"""In the inner loop of development, only every fifth write."""

SCENARIOS: dict[str, dict[str, Any] | None] = {
    "create": {},
    "scale up": {"replicas": 6},
    "scale down": {"replicas": 2},
    "reconfigure": {"overlay": {"kind": "FullMesh"}},
    "rollout": {"image": "node:2"},
    "delete": None,
    "create with an authority": {},
    "rotate the authority": {},
    "delete with an authority": None,
}
"""Changes of the spec of a complete cluster; none for its creation."""

LOST = {"rotate the authority": AUTHORITY}
"""The Secret deleted then: a lost authority is replaced like one that ends."""


def spec_of(name: str) -> dict[str, Any]:
    """Return the spec that a scenario begins with."""
    sealed = {"security": {"tls": {"clusterCa": {}}}}
    return {**SPEC, **(sealed if "authority" in name else {})}


class Kubernetes(FakeApi):
    """An API server that stops answering the operator after one of its writes."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.fatal: int | None = None

    def written(self) -> None:
        self.count += 1
        if self.count == self.fatal:
            self.failure = (503, "the operator is gone")


class Rig:
    """A cluster, and one operator after the other."""

    def __init__(self, api: Kubernetes, kube: Any) -> None:
        self.api, self._kube = api, kube
        self.world = FakeCluster(api)
        self.restarts = 0
        self._begin()

    def _begin(self) -> None:
        world: Any = self.world
        observer = Observer(self._kube, world, lambda: START)
        executor = Executor(self._kube, world, observer, lambda: START)
        tools = Tools(self._kube, observer, executor, world, Settings(node_image="node:1"))
        self._loop = ClusterLoop("default", "ads", tools)

    async def settle(self) -> None:
        """Run rounds until two in a row change nothing."""
        quiet = 0
        for _ in range(ROUNDS):
            before = self._state()
            # Every observation is complete: no wait for a resync.
            self._loop._reconciler.coverage.make_resync_due()
            with contextlib.suppress(KubeError):
                await self._loop._reconcile()
            if self.api.failure is not None:
                self.api.failure = None
                self.restarts += 1
                self._begin()
            self.world.step()
            quiet = quiet + 1 if self._state() == before else 0
            if quiet == 2:
                return
        pytest.fail("it does not come to rest")

    def _state(self) -> tuple[int, ...]:
        return self.api.count, len(self.world.made), self.world.loads, len(self.api.objects)

    def create(self, spec: dict[str, Any]) -> None:
        metadata = {"name": "ads", "namespace": "default", "generation": 1}
        self.api.put(CLUSTER, {"kind": "PartisanCluster", "metadata": metadata, "spec": spec})

    def change(self, spec: dict[str, Any] | None) -> None:
        live = self.api.objects[CLUSTER]
        if spec is None:
            del self.api.objects[CLUSTER]
        elif spec:
            live["spec"] = {**live["spec"], **spec}
            live["metadata"]["generation"] += 1


def comparable(item: Json) -> Json:
    """Return the state on which two runs must agree, without identities, token and time."""
    fixed = {key: value for key, value in item.items() if key not in ("metadata", "data")}
    labels = item["metadata"].get("labels")
    return fixed | {"labels": labels, "keys": sorted(item.get("data") or {})}


async def scenario(name: str, fatal: int | None) -> tuple[Rig, dict[str, str], int]:
    """Run a scenario with a kill after its nth write; return the rig after it.

    Also the pods before the change, and its number of writes.
    """
    api = Kubernetes()
    rig = Rig(api, await api.start())
    rig.create(spec_of(name))
    if not name.startswith("create"):
        await rig.settle()
    before, written = rig.world.pods(), api.count
    api.fatal = None if fatal is None else written + fatal
    rig.change(SCENARIOS[name])
    if name in LOST:
        del api.objects[LOST[name]]
    await rig.settle()
    await api.stop()
    return rig, before, api.count - written


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_kill_after_any_write_changes_nothing_in_the_end(name: str) -> None:
    undisturbed, before, writes = await scenario(name, None)
    assert bool(writes) == (SCENARIOS[name] is not None)
    expected = {path: comparable(item) for path, item in undisturbed.world.own().items()}
    made = Counter(undisturbed.world.made)
    for fatal in itertools.count(1, STRIDE):
        rig, pods, _ = await scenario(name, fatal)
        if not rig.restarts:
            break  # the scenario has fewer writes than that
        found = {path: comparable(item) for path, item in rig.world.own().items()}
        assert found == expected, fatal
        # No additional pod is restarted.
        assert Counter(rig.world.made) == made, fatal
        kept = pods.items() & rig.world.pods().items()
        assert len(kept) == len(before.items() & undisturbed.world.pods().items()), fatal
        assert status_of(rig) == status_of(undisturbed), fatal
        assert_sealed(rig)
    assert fatal > writes


def assert_sealed(rig: Rig) -> None:
    """Check that all nodes use the present Secret, and trust its authority alone."""
    authority, secret = (rig.api.objects.get(path) for path in (AUTHORITY, CERTIFICATE))
    if authority is None or secret is None:
        assert authority is secret
        return
    store = read_store(authority, secret, rig.api.objects[CLUSTER]["metadata"]["uid"])
    assert store.authority is not None
    assert store.nodes is not None
    assert store.nodes.certificate is not None
    assert store.authority.certificate in store.nodes.trusted
    assert [one.fingerprint for one in store.nodes.trusted] == [store.nodes.certificate.issuer]
    used = {rig.world.loaded[uid].certificate for uid in rig.world.pods().values()}
    assert used == {store.nodes.certificate.fingerprint}


def status_of(rig: Rig) -> Any:
    """Return the figures and conditions of the status, if the cluster exists."""
    status = (rig.api.objects.get(CLUSTER) or {}).get("status")
    if status is None:
        return None
    conditions = [(c["type"], c["status"], c["reason"]) for c in status["conditions"]]
    figures = {key: status.get(key) for key in ("replicas", "ready", "joined", "updated", "phase")}
    return figures, conditions
