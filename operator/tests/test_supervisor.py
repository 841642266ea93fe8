"""The loops of all clusters: they begin and end with their clusters, and survive errors."""

import asyncio

import pytest

from loop_rig import CLUSTER, Rig, until
from partisan_operator.api import metrics
from partisan_operator.schedule import pace, retries
from partisan_operator.supervisor import Supervisor


async def test_a_loop_ends_with_its_cluster_and_outlives_errors(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pace, "LEAST_PAUSE", 0.0)
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.001)
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


async def test_the_clusters_of_all_scopes_are_counted(rig: Rig) -> None:
    first, second = Supervisor(rig.tools), Supervisor(rig.tools)
    before = metrics.registry.get_sample_value("partisan_operator_clusters") or 0
    for one in (first, second, first):
        one.wake("default", "ads")
    assert metrics.registry.get_sample_value("partisan_operator_clusters") == before + 2
    await first.stop()
    assert metrics.registry.get_sample_value("partisan_operator_clusters") == before + 1
    await second.stop()
    assert metrics.registry.get_sample_value("partisan_operator_clusters") == before


async def test_a_reconcile_that_does_not_end_is_stuck(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize("steps", range(5))
async def test_a_loop_that_is_woken_and_cancelled_at_once_ends(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(pace, "LEAST_PAUSE", 0.0)
    supervisor = Supervisor(rig.tools)
    supervisor.wake("default", "ads")
    entry = supervisor._entries["default", "ads"]
    await until(lambda: entry.loop.busy_since is None and "status" in rig.api.objects[CLUSTER])
    await asyncio.sleep(0.1)  # longer than the least pause
    supervisor.wake("default", "ads")
    for _ in range(steps):
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await supervisor.stop()
    assert entry.task.cancelled()


async def test_a_cluster_that_is_recreated_while_its_loop_ends_is_reconciled(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "LEAST_PAUSE", 0.0)
    manifest, kube = rig.api.objects.pop(CLUSTER), rig.tools.kube
    get, absences = kube.get, 0
    supervisor = Supervisor(rig.tools)

    async def recreated(kind: str, namespace: str, name: str) -> object:
        nonlocal absences
        found = await get(kind, namespace, name)
        if kind == "PartisanCluster" and found is None:
            # Its answer is on the way while the watch reports the next one.
            absences += 1
            rig.api.objects[CLUSTER] = manifest
            supervisor.wake("default", "ads", complete=True)
        return found

    kube.get = recreated  # type: ignore[method-assign,assignment]
    supervisor.wake("default", "ads")
    await until(lambda: "status" in rig.api.objects.get(CLUSTER, {}))
    assert absences == 1
    await supervisor.stop()


async def test_a_wake_up_after_the_end_of_a_loop_starts_another(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = rig.api.objects.pop(CLUSTER)
    supervisor = Supervisor(rig.tools)
    with monkeypatch.context() as patched:
        # The callback of the task is still to come.
        patched.setattr(supervisor, "_forget", lambda *_: None)
        supervisor.wake("default", "ads")
        await until(supervisor._entries["default", "ads"].task.done)
    rig.api.objects[CLUSTER] = manifest
    supervisor.wake("default", "ads")
    await until(lambda: "status" in rig.api.objects[CLUSTER])
    await supervisor.stop()
