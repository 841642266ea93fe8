"""Deletion of a cluster: its nodes are notified, and nothing waits for them."""

import base64
from typing import Any

import pytest

from loop_rig import CLUSTER, SECRET, SLICE, Rig, until
from partisan_operator.act.dissolution import ATTEMPTS, RELAYS, is_final, spread
from partisan_operator.api.errors import KubeError
from partisan_operator.observe.observation import Endpoint
from partisan_operator.observe.scraper import RefusedError, ScrapeError
from partisan_operator.supervisor import Supervisor

GOING = {"deletionTimestamp": "now"}


@pytest.mark.parametrize(
    ("event", "metadata", "final"),
    [
        ("MODIFIED", {}, False),
        ("DELETED", {}, True),
        ("DELETED", GOING, True),
        ("MODIFIED", GOING | {"finalizers": ["foregroundDeletion"]}, True),
        (None, GOING | {"finalizers": ["foregroundDeletion"]}, True),
        # The pods stay.
        ("MODIFIED", GOING | {"finalizers": ["orphan"]}, False),
        ("DELETED", GOING | {"finalizers": ["orphan"]}, False),
        # The pods stay until it is removed.
        ("MODIFIED", GOING | {"finalizers": ["example.com/backup"]}, False),
    ],
)
def test_when_nodes_are_deleted_with_their_cluster(
    event: str | None, metadata: dict[str, Any], *, final: bool
) -> None:
    assert is_final(event, metadata) is final


@pytest.mark.parametrize("nodes", [0, 1, RELAYS, RELAYS + 1, 1024])
def test_a_few_nodes_far_apart_are_notified(nodes: int) -> None:
    every = [Endpoint(f"ads-{n}", f"u{n}", "10.0.0.1", ready=True) for n in range(nodes)]
    relays = spread(every)
    assert min(1, nodes) <= len(relays) <= min(nodes, RELAYS)
    assert set(relays) <= set(every)
    if nodes == 1024:
        assert [relay.pod for relay in relays] == [f"ads-{n}" for n in range(0, 1024, RELAYS)]


async def test_the_nodes_of_a_deleted_cluster_are_notified_at_once(rig: Rig) -> None:
    await rig.converge()
    token = rig.nodes.started[0][1]
    # The garbage collector is faster than the next reconcile.
    del rig.api.objects[CLUSTER], rig.api.objects[SECRET]
    rig.loop.dissolve()
    rig.loop.dissolve()
    await until(lambda: len(rig.nodes.dissolved) == 3)
    assert set(rig.nodes.dissolved) == {(f"ads-{n}", token) for n in range(3)}
    assert await rig.reconcile() is None


async def test_the_order_uses_the_newest_bearer(rig: Rig) -> None:
    await rig.converge()
    first = rig.nodes.started[0][1]
    del rig.api.objects[SECRET]
    for _ in range(3):
        rig.loop.wake(complete=True)
        await rig.reconcile()
    bearer = base64.b64decode(rig.api.objects[SECRET]["data"]["bearer"]).decode()
    assert bearer != first
    del rig.api.objects[CLUSTER], rig.api.objects[SECRET]
    rig.loop.dissolve()
    await until(lambda: len(rig.nodes.dissolved) == 3)
    assert set(rig.nodes.dissolved) == {(f"ads-{n}", bearer) for n in range(3)}


async def test_a_deleted_namespace_causes_the_order_to_the_nodes(rig: Rig) -> None:
    await rig.converge()
    writes = rig.api.writes
    # The namespace controller may take the pods first, and the cluster last.
    rig.api.objects[SLICE]["endpoints"] = []
    rig.api.put("/api/v1/namespaces/default", {"metadata": {"name": "default"} | GOING})
    await rig.reconcile()
    assert rig.nodes.dissolved == []
    rig.bring_up_pods()
    await rig.reconcile()
    rig.loop.wake()
    await rig.reconcile()
    await until(lambda: len(rig.nodes.dissolved) == 3)
    assert rig.api.writes == writes


async def test_without_the_right_to_read_its_namespace_a_cluster_is_served(rig: Rig) -> None:
    await rig.converge()

    async def refuse(kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        if kind == "Namespace":
            raise KubeError(403, "forbidden")
        return await get(kind, namespace, name)

    get, rig.tools.kube.get = rig.tools.kube.get, refuse  # type: ignore[method-assign]
    rig.loop.wake()
    assert await rig.reconcile() == rig.tools.settings.idle_period
    assert rig.nodes.dissolved == []


async def test_nodes_that_do_not_answer_block_nothing(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await rig.converge()
    rig.nodes.silent = {"ads-0", "ads-1", "ads-2"}
    asked = []

    async def silence(endpoint: Endpoint, _token: str) -> None:
        asked.append(endpoint)
        raise ScrapeError("no answer")

    rig.nodes.dissolve = silence  # type: ignore[method-assign]
    rig.loop.dissolve()
    await until(lambda: "0 of 3 nodes accepted" in caplog.text)
    assert len(asked) == 3 * ATTEMPTS


async def test_nodes_of_an_older_image_are_ordered_once(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await rig.converge()
    asked = []

    async def refuse(endpoint: Endpoint, _token: str) -> None:
        asked.append(endpoint)
        raise RefusedError("404")

    rig.nodes.dissolve = refuse  # type: ignore[method-assign]
    rig.loop.dissolve()
    await until(lambda: "nodes accepted" in caplog.text)
    assert len(asked) == 3


async def test_an_order_that_is_not_authorized_is_not_counted_as_answered(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await rig.converge()

    async def refuse(_endpoint: Endpoint, _token: str) -> None:
        raise RefusedError("401", unauthorized=True)

    rig.nodes.dissolve = refuse  # type: ignore[method-assign]
    rig.loop.dissolve()
    await until(lambda: "0 of 3 nodes accepted" in caplog.text)


async def test_an_operator_that_lost_its_lease_gives_no_order(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    await rig.converge()
    await rig.tools.kube._fence.close()
    rig.loop.dissolve()
    task = rig.loop._dissolution._task
    assert task is not None
    await task
    assert rig.nodes.dissolved == []
    assert "does not hold the Lease" in caplog.text


async def test_a_cluster_without_a_loop_is_ignored(rig: Rig) -> None:
    Supervisor(rig.tools).dissolve("default", "ads")
    # A cluster without nodes has none to notify.
    rig.loop.dissolve()
    await rig.reconcile()
    rig.loop.dissolve()
    assert rig.nodes.dissolved == []
