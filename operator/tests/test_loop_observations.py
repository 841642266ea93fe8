"""Observations of a loop: all children at a resync, pods during changes, else nodes alone."""

import asyncio

import pytest

from loop_rig import NAMESPACE, SLICE, Rig, until
from partisan_operator.api.errors import KubeError


def lists(rig: Rig) -> list[str]:
    """Return the kinds that were listed, in the plural, one for each list."""
    return sorted(
        request.path.rpartition("/")[2]
        for request in rig.api.log
        if request.method == "GET" and request.path not in rig.api.objects
    )


async def settle(rig: Rig) -> None:
    """Bring a cluster to rest, and clear the recorded requests."""
    await rig.converge()
    while not rig.loop._reconciler.coverage.at_rest:
        await rig.reconcile()
    rig.loop._wakeups.take()
    rig.api.log.clear()


async def test_nothing_of_a_settled_cluster_is_listed_until_a_resync(rig: Rig) -> None:
    await settle(rig)
    for _ in range(3):
        await rig.reconcile()
    assert lists(rig) == []
    rig.make_resync_due()
    await rig.reconcile()
    assert lists(rig) == [
        "configmaps",
        "endpointslices",
        "networkpolicies",
        "poddisruptionbudgets",
        "podmonitors",
        "services",
        "statefulsets",
    ]


async def test_a_change_of_a_child_causes_another_observation_of_pods(rig: Rig) -> None:
    await settle(rig)
    rig.loop.wake()
    await rig.reconcile()
    await rig.reconcile()
    assert lists(rig) == ["endpointslices", "statefulsets"]


async def test_addresses_come_from_the_services_of_shards_alone(rig: Rig) -> None:
    """Slices of the Service of applications may lag behind."""
    await settle(rig)
    rig.make_resync_due()
    rig.api.log.clear()
    await rig.reconcile()
    (request,) = [entry for entry in rig.api.log if entry.path.endswith("/endpointslices")]
    assert request.query["labelSelector"] == "partisan.dev/cluster=ads,partisan.dev/shard"


async def test_pods_are_observed_until_statefulset_and_addresses_agree(rig: Rig) -> None:
    await settle(rig)
    serving = rig.api.objects[SLICE]["endpoints"][1]["conditions"]
    serving["serving"] = False
    rig.loop.wake()
    await rig.reconcile()
    serving["serving"] = True
    await rig.reconcile()
    await rig.reconcile()
    assert lists(rig) == ["endpointslices"] * 2 + ["statefulsets"] * 2


async def test_the_address_of_a_silent_node_is_observed_again(rig: Rig) -> None:
    await settle(rig)
    rig.nodes.silent = {"ads-1"}
    await rig.reconcile()
    assert lists(rig) == []
    await rig.reconcile()
    assert lists(rig) == ["endpointslices", "statefulsets"]


async def test_after_a_failed_reconcile_objects_are_observed_again(rig: Rig) -> None:
    await settle(rig)
    rig.make_resync_due()
    rig.api.failure = (503, "away")
    with pytest.raises(KubeError):
        await rig.reconcile()
    rig.api.failure = None
    await rig.reconcile()
    assert "statefulsets" in lists(rig)


async def test_a_deleted_child_is_back_after_a_resync(rig: Rig) -> None:
    await rig.converge()
    service = f"/api/v1{NAMESPACE}/services/ads"
    del rig.api.objects[service]
    await rig.reconcile()
    assert service not in rig.api.objects
    rig.make_resync_due()
    await rig.reconcile()
    assert service in rig.api.objects


async def test_a_child_that_a_watch_reports_is_back_at_once_and_progressing_names_it(
    rig: Rig,
) -> None:
    await settle(rig)
    service = f"/api/v1{NAMESPACE}/services/ads"
    del rig.api.objects[service]
    rig.loop.wake(complete=True)
    await rig.reconcile()
    assert service in rig.api.objects
    progressing = rig.condition("Progressing")
    assert (progressing["status"], progressing["reason"]) == ("True", "Applying")
    assert progressing["message"].endswith("have just been changed: Service ads")
    await rig.reconcile()
    assert rig.condition("Progressing")["reason"] == "Settled"


async def test_a_guard_deleted_while_a_pod_is_not_ready_is_back_when_all_are(rig: Rig) -> None:
    await settle(rig)
    serving = rig.api.objects[SLICE]["endpoints"][1]["conditions"]
    serving["serving"] = False
    budget = f"/apis/policy/v1{NAMESPACE}/poddisruptionbudgets/ads"
    del rig.api.objects[budget]
    rig.loop.wake(complete=True)
    await rig.reconcile()
    assert budget not in rig.api.objects
    serving["serving"] = True
    await rig.reconcile()
    await rig.reconcile()
    assert budget in rig.api.objects


async def test_a_change_of_a_child_during_a_reconcile_is_observed_by_the_next(rig: Rig) -> None:
    await settle(rig)
    rig.loop.wake(complete=True)
    reconciling = asyncio.create_task(rig.reconcile())
    await until(lambda: bool(rig.api.log))
    rig.loop.wake(complete=True)
    await reconciling
    rig.api.log.clear()
    await rig.reconcile()
    assert "services" in lists(rig)
