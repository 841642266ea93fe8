"""The loops of all clusters: they begin and end with their clusters, and survive errors."""

from __future__ import annotations

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
