"""Rejected scale-downs, and the changes that continue meanwhile."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partisan_operator.children import naming
from partisan_operator.decide import reconcile, scale_down
from partisan_operator.decide.actions import Apply, Plan
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Reason
from partisan_operator.observe.observation import Observation, Seen
from strategies import specs
from test_reconcile import settle
from world import INSTALLATION, START, World, cluster, report


def observed(running: PartisanCluster, views: dict[int, list[int]]) -> Observation:
    """Return an observation of a cluster with these ordinals in the overlay, linked like that."""
    world = World()
    settle(running, world)
    return linked(world, views)


def linked(world: World, views: dict[int, list[int]]) -> Observation:
    """Return an observation of a world with these ordinals in the overlay, linked like that."""
    seen = {
        name: Seen(report(name, active=tuple(f"ads-{peer}" for peer in peers)), "u", START)
        for node, peers in views.items()
        if (name := naming.pod_name("ads", node))
    }
    return replace(world.observe(), seen=seen)


def ring(*ordinals: int) -> dict[int, list[int]]:
    return {node: [peer] for node, peer in zip(ordinals, ordinals[1:] + ordinals[:1], strict=True)}


def refused(wanted: PartisanCluster, observation: Observation) -> str:
    """Return why a plan removes no pod; empty when it may."""
    plan = reconcile.plan(
        wanted, reconcile.desired(wanted, INSTALLATION), observation, INSTALLATION
    )
    if plan.problem is None:
        return ""
    assert plan.problem.reason is Reason.SCALE_DOWN_REFUSED
    assert not plan.changes
    assert plan.kept > wanted.spec.replicas
    assert plan.scaling is None
    return plan.problem.message


SIX = cluster({"replicas": 6})
TWO = cluster({"replicas": 2})


@pytest.mark.parametrize(
    ("views", "why"),
    [
        (ring(0, 1, 2, 3, 4, 5), ""),
        (ring(0, 1, 2), ""),
        # A failed node hands nothing over and blocks no other.
        (ring(1, 2, 3, 4, 5), ""),
        ({}, ""),
        (ring(2, 3, 4, 5), "none of the nodes that would remain is in the overlay"),
        (ring(0, 1) | ring(2, 3, 4, 5), "nodes ads-2, ads-3, ads-4, ads-5 would leave without"),
        (ring(0, 1, 2, 3, 4) | {5: []}, "node ads-5 would leave without handing over"),
        # The remaining components heal; no state is lost.
        (ring(0, 2, 3) | ring(1, 4, 5), ""),
    ],
)
def test_a_component_is_never_removed_as_a_whole(views: dict[int, list[int]], why: str) -> None:
    rejection = refused(TWO, observed(SIX, views))
    assert bool(rejection) == bool(why)
    assert why in rejection
    assert not why or "spec.replicas 2 is not followed, 6 nodes stay" in rejection
    assert not why or rejection.endswith("or set spec.replicas to 6 again.")


def client_server(replicas: int, servers: int) -> PartisanCluster:
    overlay = {"kind": "ClientServer", "clientServer": {"servers": servers}}
    return cluster({"replicas": replicas, "overlay": overlay})


def test_the_last_running_server_is_not_removed() -> None:
    star = {1: [2, 3, 4], 2: [1], 3: [1], 4: [1]}
    observation = observed(client_server(5, 2), star)
    rejection = refused(client_server(3, 1), observation)
    assert "of the servers that would remain, node ads-0, none is in the overlay" in rejection
    assert "kubectl describe pod ads-0" in rejection
    assert refused(client_server(3, 2), observation) == ""
    # Not from a spec: the present state of the cluster.
    assert refused(client_server(5, 2), observation) == ""


def test_the_last_running_broker_is_not_removed() -> None:
    brokers = {"brokers": 2, "replication": 1}
    overlay = {"kind": "PublishSubscribe", "publishSubscribe": brokers}
    present = observed(cluster({"replicas": 4, "overlay": overlay}), {1: [2, 3], 2: [1], 3: [1]})
    fewer = {"kind": "PublishSubscribe", "publishSubscribe": brokers | {"brokers": 1}}
    assert "node ads-0, none is in" in refused(cluster({"replicas": 3, "overlay": fewer}), present)
    assert refused(cluster({"replicas": 3, "overlay": overlay}), present) == ""


@pytest.mark.parametrize(
    ("edges", "why"),
    [
        ([[0, 1], [1, 2]], ""),
        ([[0, 1], [1, 0]], "would not connect ordinal 2 to ordinal 0. Add edges"),
    ],
)
def test_edges_must_connect_the_remaining_nodes(edges: list[list[int]], why: str) -> None:
    spec = {"replicas": 3, "overlay": {"kind": "Static", "static": {"edges": edges}}}
    rejection = refused(cluster(spec), observed(SIX, ring(0, 1, 2, 3, 4, 5)))
    assert bool(rejection) == bool(why)
    assert why in rejection


@given(
    st.integers(1, 8),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=12),
)
def test_edges_are_rejected_exactly_when_they_do_not_connect_all(
    replicas: int, pairs: list[tuple[int, int]]
) -> None:
    edges = [[a % replicas, b % replicas] for a, b in pairs]
    reached, before = {0}, set[int]()
    while reached != before:
        before = set(reached)
        reached |= {end for edge in edges if reached & set(edge) for end in edge}
    spec = {"replicas": replicas, "overlay": {"kind": "Static", "static": {"edges": edges}}}
    rejection = refused(cluster(spec), observed(cluster({"replicas": 9}), {}))
    assert bool(rejection) == (len(reached) < replicas)


@settings(max_examples=60)
@given(
    before=st.integers(1, 9),
    after=st.integers(1, 9),
    joined=st.sets(st.integers(0, 8)),
    links=st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8))),
)
def test_every_node_in_the_overlay_has_a_path_to_one_that_stays(
    before: int, after: int, joined: set[int], links: set[tuple[int, int]]
) -> None:
    present = {node for node in joined if node < before}
    views = {node: [b for a, b in links if a == node] for node in present}
    observation = observed(cluster({"replicas": before}), views)
    rejection = refused(cluster({"replicas": after}), observation)
    if after >= before:
        assert rejection == ""
        return
    reached = {node for node in present if node < after}
    for _ in present:
        reached |= {
            node
            for (a, b), node in itertools.product(links, present)
            if a in present and b in present and node in (a, b) and reached & {a, b}
        }
    assert bool(rejection) == bool(present - reached)


@settings(max_examples=30)
@given(specs(max_replicas=40), st.integers(1, 40))
def test_a_connected_cluster_may_always_shrink(spec: dict[str, Any], after: int) -> None:
    running, world = cluster(spec), World()
    settle(running, world)
    assert scale_down.refusal(running, world.observe()) is None
    wanted = cluster(spec | {"replicas": after})
    settle(wanted, world)
    assert set(world.pods) == set(naming.pod_names("ads", after))


SPLIT = ring(0, 1) | ring(2, 3, 4, 5)
CHILDREN = [
    ("StatefulSet", "ads"),
    ("Service", "ads"),
    ("ConfigMap", "ads-config"),
    ("NetworkPolicy", "ads"),
    ("PodDisruptionBudget", "ads"),
]


def applied(plan: Plan) -> list[tuple[str, str]]:
    return [action.child.key for action in plan.actions if isinstance(action, Apply)]


def decide(wanted: PartisanCluster, observation: Observation) -> Plan:
    return reconcile.plan(
        wanted, reconcile.desired(wanted, INSTALLATION), observation, INSTALLATION
    )


@pytest.mark.parametrize("key", CHILDREN)
def test_drift_is_repaired_while_pods_have_to_stay(key: tuple[str, str]) -> None:
    world = World()
    settle(SIX, world)
    part = "data" if key[0] == "ConfigMap" else "spec"
    live = world.objects[key]
    live[part] = live[part] | dict.fromkeys([next(iter(live[part]))], "changed")
    plan = decide(TWO, linked(world, SPLIT))
    assert plan.problem is not None
    assert applied(plan) == [key]
    del world.objects[key]
    assert key in applied(decide(TWO, linked(world, SPLIT)))


def test_a_rejected_scale_down_does_not_stop_a_rollout() -> None:
    world = World()
    settle(SIX, world)
    plan = decide(cluster({"replicas": 2, "image": "node:2"}), linked(world, SPLIT))
    (child,) = (action.child for action in plan.actions if isinstance(action, Apply))
    assert child.manifest["spec"]["replicas"] == 6
    assert child.manifest["spec"]["template"]["spec"]["containers"][0]["image"] == "node:2"


def test_a_configuration_for_fewer_nodes_is_not_sent_to_more() -> None:
    world = World()
    settle(SIX, world)
    edges = {"kind": "Static", "static": {"edges": [[0, 1], [0, 0]]}}
    few = cluster({"replicas": 3, "overlay": edges})
    whole = linked(world, ring(*range(6)))
    assert decide(few, whole).actions == ()
    # Their last configuration is still repaired, and missing children are created.
    world.objects["StatefulSet", "ads"]["spec"]["serviceName"] = "changed"
    assert applied(decide(few, linked(world, ring(*range(6))))) == [("StatefulSet", "ads")]
    del world.objects["ConfigMap", "ads-config"]
    assert ("ConfigMap", "ads-config") in applied(decide(few, linked(world, ring(*range(6)))))


def test_a_shard_that_another_client_shrank_affects_no_other() -> None:
    world = World()
    settle(cluster({"replicas": 260}), world)
    world.objects["StatefulSet", "ads"]["spec"]["replicas"] = 5
    plan = decide(TWO, linked(world, {259: []}))
    assert plan.problem is not None
    assert plan.kept == 260
    (child,) = (action.child for action in plan.actions if isinstance(action, Apply))
    assert (child.name, child.manifest["spec"]["replicas"]) == ("ads", 250)


def test_a_rejected_scale_down_resumes_when_safe_or_reverted() -> None:
    unsafe, safe = observed(SIX, ring(0, 1) | ring(2, 3, 4, 5)), observed(SIX, ring(*range(6)))
    assert refused(TWO, unsafe)
    assert refused(SIX, unsafe) == ""
    plan = reconcile.plan(TWO, reconcile.desired(TWO, INSTALLATION), safe, INSTALLATION)
    assert plan.scaling == (6, 2)
