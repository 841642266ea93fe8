"""A scope reconciles its clusters while it holds the Lease, and only then."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from console_rig import Page
from fake_api import FakeApi
from loop_rig import CLUSTER, EVENTS, MANIFEST, FakeNodes, until
from partisan_operator.api import metrics
from partisan_operator.console.hub import Hub
from partisan_operator.console.viewer import Selection
from partisan_operator.leader import claims
from partisan_operator.leader.election import Timing
from partisan_operator.leader.lease import NAME
from partisan_operator.schedule.fleet import unlimited
from partisan_operator.schedule.limiter import ReconcileLimiter
from partisan_operator.scope import Scope
from partisan_operator.settings import Settings
from partisan_operator.status.audience import Audience

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/op/leases/{NAME}"
CLAIM = LEASE.replace("/op/", "/default/")
CLAIM_LABELS = {"lease": f"default/{NAME}"}
OTHER = {"name": "ads", "namespace": "other"}


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    api = FakeApi()
    await api.start()
    yield api
    await api.stop()


def scope(
    api: FakeApi,
    identity: str,
    audience: Audience | None = None,
    *,
    namespace: str = "",
    limiter: ReconcileLimiter | None = None,
) -> Scope:
    nodes = FakeNodes()
    return Scope(
        api.client,
        nodes,  # type: ignore[arg-type]
        Settings(node_image="node:1", namespaces=(namespace,) if namespace else ()),
        unlimited(),
        limiter or ReconcileLimiter(),
        lease_namespace=namespace or "op",
        identity=identity,
        audience=audience,
    )


async def serving(api: FakeApi) -> Scope:
    """Return a scope that has reconciled its one cluster."""
    api.put(CLUSTER, MANIFEST)
    one = scope(api, "first")
    one.learn("default", "ads")
    one.start()
    await until(lambda: "status" in api.objects[CLUSTER])
    return one


async def test_clusters_are_handed_over_with_the_lease(api: FakeApi) -> None:
    api.put(CLUSTER, MANIFEST)
    first, second = scope(api, "first"), scope(api, "second")
    for one in (first, second):
        one.learn("default", "ads")
    assert api.writes == 0
    first.start()
    await until(lambda: "status" in api.objects[CLUSTER])
    second.start()
    await until(lambda: "stands by" in second.state and not second.obstacle)
    assert (first.faults(), second.faults()) == ([], [])
    await first.stop()
    assert metrics.registry.get_sample_value("partisan_operator_clusters") == 0
    writes = api.writes
    await until(lambda: holder(api) == "second")
    del api.objects[CLUSTER]["status"]
    second.wake("default", "ads")
    await until(lambda: "status" in api.objects[CLUSTER])
    first.wake("default", "ads")
    assert first._supervisor._entries == {}
    assert api.writes > writes
    await second.stop()
    assert holder(api) == ""


async def test_the_clusters_of_all_scopes_share_the_slots(api: FakeApi) -> None:
    api.put(CLUSTER, MANIFEST)
    api.put(CLUSTER.replace("/default/", "/other/"), {**MANIFEST, "metadata": OTHER})
    limiter = ReconcileLimiter(at_a_time=1, slot_seconds=60.0)
    scopes = [scope(api, name, namespace=name, limiter=limiter) for name in ("default", "other")]
    for one, namespace in zip(scopes, ("default", "other"), strict=True):
        one.learn(namespace, "ads")
        one.start()
    async with limiter.slot():
        await until(lambda: all(one._supervisor._entries for one in scopes))
        assert not [request for request in api.log if "partisanclusters" in request.path]
    await until(lambda: "status" in api.objects[CLUSTER])
    for one in scopes:
        await one.stop()


async def test_the_leader_alone_orders_the_nodes_of_a_deleted_cluster(api: FakeApi) -> None:
    api.put(CLUSTER, MANIFEST)
    api.put(CLUSTER.replace("/default/", "/other/"), {**MANIFEST, "metadata": OTHER})
    first, second = scope(api, "first"), scope(api, "second")
    dissolved: dict[str, list[tuple[str, str]]] = {"first": [], "second": []}
    for name, one in (("first", first), ("second", second)):
        heard = dissolved[name]
        one._supervisor.dissolve = lambda *key, to=heard: to.append(key)  # type: ignore[method-assign]
        one.learn("default", "ads")
        one.learn("other", "ads")
    first.start()
    await until(lambda: all(first._serves(namespace) for namespace in ("default", "other")))
    for one in (first, second):
        one.dissolve("default", "ads")
    assert dissolved == {"first": [("default", "ads")], "second": []}
    for one in (first, second):
        one.dissolve_all("other")
    assert dissolved == {"first": [("default", "ads"), ("other", "ads")], "second": []}
    await first.stop()


async def test_a_deleted_cluster_is_unknown_to_the_next_leader(api: FakeApi) -> None:
    one = scope(api, "first")
    one.learn("default", "ads")
    one.forget("default", "ads")
    one.start()
    await until(lambda: holder(api) == "first")
    assert one._supervisor._entries == {}
    await one.stop()


async def test_a_cluster_whose_deletion_no_watch_reported_is_forgotten(api: FakeApi) -> None:
    one = await serving(api)
    assert holder(api, CLAIM) != ""
    del api.objects[CLUSTER]
    # Any event of a child, or the end of the pause.
    one.wake("default", "ads")
    await until(lambda: holder(api, CLAIM) == "")
    assert one.namespaces == frozenset()
    assert one._supervisor._entries == {}
    await one.stop()


async def test_the_page_of_the_leader_follows_the_lease(api: FakeApi) -> None:
    api.put(CLUSTER, MANIFEST)
    hub = Hub()
    first, second = scope(api, "first", hub), scope(api, "second")
    first.learn("default", "ads")
    first.learn("other", "ads")
    assert first.namespaces == {"default", "other"}
    first.start()
    await until(lambda: first.leading)
    page = Page()
    async with aclosing(hub.stream(Selection(None, ("default", "ads")))) as stream:
        while "default/ads" not in page.document.get("details", {}):
            await page.read(stream)
        second.start()
        await until(lambda: second.holder == "first" == first.holder)
        assert (first.leading, second.leading) == (True, False)
        await first.stop()
        async for piece in stream:
            page.receive(piece)
    assert page.reasons == ["start"]
    await until(lambda: second.holder == "second")
    await second.stop()


async def test_an_operator_of_one_namespace_stands_by_where_one_of_all_serves(
    api: FakeApi,
) -> None:
    api.put(CLUSTER, MANIFEST)
    everywhere, second = scope(api, "first"), scope(api, "second", namespace="default")
    for one in (everywhere, second):
        one.learn("default", "ads")
    everywhere.start()
    await until(lambda: "status" in api.objects[CLUSTER])
    assert holder(api, CLAIM) == "op/partisan-operator"
    second.start()
    await until(lambda: "stands by" in second.state and not second.obstacle)
    assert "which op/partisan-operator holds" in second.state
    assert second._supervisor._entries == {}
    # Without a cluster there is nothing to hold it for.
    everywhere.forget("default", "ads")
    await until(lambda: holder(api, CLAIM) == "second")
    # From now on the first one is the second.
    everywhere.learn("default", "ads")
    await until(lambda: everywhere.is_excluded("default"))
    assert "second serves namespace default, where this operator does nothing" in everywhere.state
    assert everywhere.leading
    assert not everywhere.obstacle
    for one in (everywhere, second):
        await one.stop()


async def test_the_next_leader_goes_on_with_the_claims_at_once(api: FakeApi) -> None:
    api.put(CLUSTER, MANIFEST)
    first, second = scope(api, "first"), scope(api, "second")
    for one in (first, second):
        one.learn("default", "ads")
    first.start()
    await until(lambda: "status" in api.objects[CLUSTER])
    await first.stop()
    assert holder(api, CLAIM) == "op/partisan-operator"
    assert metrics.registry.get_sample_value("partisan_operator_leader", CLAIM_LABELS) is None
    del api.objects[CLUSTER]["status"]
    second.start()
    await until(lambda: "status" in api.objects[CLUSTER])
    assert api.objects[CLAIM]["spec"]["leaseTransitions"] == 0
    await second.stop()


async def test_a_claim_that_is_lost_ends_the_loops_of_its_namespace_alone(api: FakeApi) -> None:
    api.put(CLUSTER, MANIFEST)
    api.put(CLUSTER.replace("/default/", "/other/"), {**MANIFEST, "metadata": OTHER})
    one = scope(api, "first")
    forgotten: list[tuple[str, ...]] = []
    one.audience.forgotten = lambda *key: forgotten.append(key)  # type: ignore[method-assign]
    for namespace in ("default", "other"):
        one.learn(namespace, "ads")
    one.start()
    await until(lambda: len(one._supervisor._entries) == 2)
    assert one._claims is not None
    claim = one._claims._claims["default"].leadership
    claim._candidate = replace(claim._candidate, leads_until=float("-inf"))
    await claim._follow()
    assert list(one._supervisor._entries) == [("other", "ads")]
    assert forgotten == [("default", "ads")]
    one.wake("default", "ads")
    assert list(one._supervisor._entries) == [("other", "ads")]
    await one.stop()


async def test_a_namespace_that_is_given_up_has_no_loops(api: FakeApi) -> None:
    one = await serving(api)
    # A cluster of the same name is there before the loop can see that there is none.
    one.forget("default", "ads")
    await until(lambda: holder(api, CLAIM) == "")
    assert one._supervisor._entries == {}
    one.learn("default", "ads")
    await until(lambda: list(one._supervisor._entries) == [("default", "ads")])
    await one.stop()


async def test_a_claim_whose_renewal_hangs_is_a_fault(api: FakeApi) -> None:
    one = await serving(api)
    assert one.faults() == []
    assert one._claims is not None
    one._claims._claims["default"].leadership._round_ended = float("-inf")
    assert one.faults() == ["leads for Lease default/partisan-operator"]
    await one.stop()


async def test_a_namespace_whose_lease_is_refused_says_so_until_it_is_served(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "TIMING", Timing(duration=60.0, deadline=40.0, period=0.02))
    api.put(CLUSTER, MANIFEST)
    api.put(CLUSTER.replace("/default/", "/other/"), {**MANIFEST, "metadata": OTHER})
    api.refusals["/default/leases"] = (403, "exceeded quota: leases")
    one = scope(api, "first")
    for namespace in ("default", "other"):
        one.learn(namespace, "ads")
    one.start()
    await until(lambda: any(path.startswith(EVENTS) for path in api.objects))
    (event,) = (item for path, item in api.objects.items() if path.startswith(EVENTS))
    assert (event["type"], event["reason"]) == ("Warning", "LeaseRefused")
    assert "exceeded quota: leases" in event["message"]
    assert "no operator serves namespace default, whose Lease is refused: exceeded" in one.state
    # The other namespaces are served, by an operator that is ready.
    await until(lambda: list(one._supervisor._entries) == [("other", "ads")])
    assert not one.obstacle
    assert (one.is_excluded("default"), one.is_excluded("other")) == (True, False)
    assert metrics.registry.get_sample_value("partisan_operator_lease_refused", CLAIM_LABELS) == 1
    assert "status" not in api.objects[CLUSTER]
    api.refusals.clear()
    await until(lambda: "status" in api.objects[CLUSTER])
    assert "refused" not in one.state
    assert metrics.registry.get_sample_value("partisan_operator_lease_refused", CLAIM_LABELS) == 0
    await one.stop()
    assert not metrics.registry.get_sample_value("partisan_operator_lease_refused", CLAIM_LABELS)


def holder(api: FakeApi, lease: str = LEASE) -> str:
    return str(api.objects[lease]["spec"]["holderIdentity"]) if lease in api.objects else ""
