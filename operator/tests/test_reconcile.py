"""Plans, carried out in a small simulation until it is at rest.

Over 300 lines: all cases are one function's, and share `settle`.
"""

from typing import Any

import pytest
from hypothesis import given, settings

from partisan_operator.children import desired_children
from partisan_operator.children.node_config import render_config
from partisan_operator.children.node_http import has_bearer
from partisan_operator.children.shared_secrets import BEARER, TOKEN
from partisan_operator.decide import reconcile
from partisan_operator.decide.actions import Apply, Configure, DeletePod, MakeSecret, Plan
from partisan_operator.decide.installation import Installation
from partisan_operator.decide.monitoring import missing_kind
from partisan_operator.models import PartisanCluster
from partisan_operator.models.metrics import MonitorMode
from partisan_operator.models.problem import Reason
from partisan_operator.models.quantities import share
from partisan_operator.observe.observation import PodMonitors, SecretState
from strategies import specs
from world import IMAGE, INSTALLATION, Pod, World, cluster

LIMIT = 400


def plan(
    wanted: PartisanCluster,
    world: World,
    installation: Installation = INSTALLATION,
    *,
    complete: bool = True,
) -> Plan:
    return reconcile.plan(
        wanted,
        reconcile.desired(wanted, installation),
        world.observe(complete=complete),
        installation,
    )


def settle(wanted: PartisanCluster, world: World, installation: Installation = INSTALLATION) -> int:
    """Run the simulation until it is at rest.

    Return the greatest number of pods that were missing once the cluster had had all of them.
    """
    most, whole = 0, False
    for _ in range(LIMIT):
        todo = plan(wanted, world, installation)
        assert todo.problem is None
        waits = [pod for pod in world.pods.values() if not pod.ready]
        if not todo.changes and not waits and world.objects:
            return most
        world.perform(todo)
        ready = sum(pod.ready for pod in world.pods.values())
        whole = whole or ready == wanted.spec.replicas
        most = max(most, wanted.spec.replicas - ready) if whole else most
        world.step()
    pytest.fail("the world does not come to rest")


def names(world: World) -> list[str]:
    return sorted(world.pods, key=lambda name: int(name.rpartition("-")[2]))


def test_the_service_of_applications_goes_with_their_ports() -> None:
    world = World()
    settle(cluster({"pods": {"ports": [{"name": "api", "port": 9000}]}}), world)
    assert ("Service", "ads-app") in world.objects
    settle(cluster(), world)
    assert ("Service", "ads-app") not in world.objects
    assert ("Service", "ads") in world.objects


@settings(max_examples=40)
@given(specs(max_replicas=600))
def test_any_spec_is_reached_and_then_no_action_is_left(spec: dict[str, Any]) -> None:
    wanted, world = cluster(spec), World()
    settle(wanted, world)
    assert len(world.pods) == wanted.spec.replicas
    assert not plan(wanted, world).changes
    assert not plan(wanted, world, complete=False).changes


@settings(max_examples=40)
@given(specs(max_replicas=60), specs(max_replicas=60))
def test_any_change_completes_within_the_bounds_of_a_rollout(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    world = World()
    settle(cluster(first), world)
    changed = cluster(second)
    scaled = {pod.uid for pod in world.pods.values()}
    most = settle(changed, world)
    assert len(world.pods) == changed.spec.replicas
    assert {pod.uid for pod in world.pods.values()} <= scaled | {
        pod.uid for pod in world.pods.values()
    }
    assert most <= share(changed.spec.rollout.max_unavailable, changed.spec.replicas)
    assert not plan(changed, world).changes


def test_pods_are_created_after_their_dependencies() -> None:
    first, second, *_ = plan(cluster(), World()).waves
    assert all(MakeSecret(secret) in first for secret in (TOKEN, BEARER))
    assert {action.child.kind for action in first if isinstance(action, Apply)} == {
        "ConfigMap",
        "Service",
        "NetworkPolicy",
    }
    assert [action.child.kind for action in second] == ["StatefulSet"]  # type: ignore[union-attr]


def test_guards_appear_once_a_cluster_is_complete_and_stay() -> None:
    budget = ("PodDisruptionBudget", "ads")
    world = World()
    while not world.pods:
        world.perform(plan(cluster(), world))
        world.step()
    assert budget not in world.objects
    settle(cluster(), world)
    assert budget in world.objects
    next(iter(world.pods.values())).ready = False
    world.objects[budget]["spec"] = {"maxUnavailable": 77}
    todo = plan(cluster(), world)
    assert [action.child.key for action in todo.actions] == [budget]  # type: ignore[union-attr]


def test_scaling_replaces_no_pod() -> None:
    world = World()
    settle(cluster({"replicas": 10}), world)
    before = {pod.uid for pod in world.pods.values()}
    assert plan(cluster({"replicas": 40}), world).scaling == (10, 40)
    settle(cluster({"replicas": 40}), world)
    assert before <= {pod.uid for pod in world.pods.values()}
    settle(cluster({"replicas": 4}), world)
    assert names(world) == ["ads-0", "ads-1", "ads-2", "ads-3"]
    assert {pod.uid for pod in world.pods.values()} <= before


def test_a_child_that_a_finalizer_holds_up_is_deleted_once() -> None:
    world = World()
    settle(cluster({"pods": {"ports": [{"name": "api", "port": 9000}]}}), world)

    def deleted() -> list[str]:
        actions = plan(cluster(), world).actions
        return [action.name for action in actions if isinstance(action, reconcile.Delete)]

    assert deleted() == ["ads-app"]
    world.objects["Service", "ads-app"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert deleted() == []


def test_a_shard_that_waits_for_its_certificate_is_not_reported_as_scaled() -> None:
    world = World()
    settle(cluster({"replicas": 250}), world)
    larger = cluster({"replicas": 300, "security": {"tls": {"issuerRef": {"name": "company"}}}})
    world.perform(plan(larger, world))
    waiting = plan(larger, world)
    assert waiting.stateful_sets == ()
    assert waiting.scaling is None


def test_a_shard_is_emptied_before_it_is_deleted() -> None:
    world = World()
    settle(cluster({"replicas": 300}), world)
    small = cluster({"replicas": 10})
    todo = plan(small, world)
    emptied = [a.child for a in todo.actions if isinstance(a, Apply)]
    assert {c.name: c.manifest["spec"]["replicas"] for c in emptied if c.kind == "StatefulSet"} == {
        "ads": 10,
        "ads-s1": 0,
    }
    assert not any(isinstance(action, reconcile.Delete) for action in todo.actions)
    settle(small, world)
    assert ("StatefulSet", "ads-s1") not in world.objects
    assert ("Service", "ads-s1") not in world.objects


@pytest.mark.parametrize(
    ("policy", "stays"),
    [({}, False), ({"whenDeleted": "Delete"}, True), ({"whenScaled": "Delete"}, False)],
)
def test_an_empty_shard_stays_for_the_claims_that_would_go_with_it(
    policy: dict[str, str], stays: bool
) -> None:
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    pods = {
        "volumeClaimTemplates": [{"name": "data", "spec": storage}],
        "persistentVolumeClaimRetentionPolicy": policy,
    }
    world = World()
    settle(cluster({"replicas": 252, "pods": pods}), world)
    settle(cluster({"replicas": 3, "pods": pods}), world)
    assert (("StatefulSet", "ads-s1") in world.objects) == stays
    assert ("Service", "ads-s1") not in world.objects


@pytest.mark.parametrize("label", [None, "", "x", "0", "7"])
def test_a_shard_is_known_by_its_name_and_its_labels_are_repaired(label: str | None) -> None:
    world = World()
    settle(cluster({"replicas": 300}), world)
    metadata = world.objects["StatefulSet", "ads-s1"]["metadata"]
    if label is None:
        del metadata["labels"]
    else:
        metadata["labels"] = {**metadata["labels"], "partisan.dev/shard": label}
    assert plan(cluster({"replicas": 300}), world).changes == ("StatefulSet ads-s1",)
    shrunk = {
        child.name: child.manifest["spec"]["replicas"]
        for child in plan(cluster({"replicas": 100}), world).stateful_sets
    }
    assert shrunk == {"ads": 100, "ads-s1": 0}


@pytest.mark.parametrize("kind", ["StatefulSet", "Service", "ConfigMap"])
def test_an_object_of_another_owner_is_neither_changed_nor_deleted(kind: str) -> None:
    world = World()
    world.add_foreign(kind, "ads-config" if kind == "ConfigMap" else "ads")
    todo = plan(cluster(), world)
    assert todo.actions == ()
    assert todo.problem is not None
    assert todo.problem.reason is Reason.NAME_CONFLICT
    assert kind in todo.problem.message


def test_a_foreign_object_without_a_conflict_is_kept() -> None:
    world = World()
    world.add_foreign("ConfigMap", "foreign")
    settle(cluster(), world)
    assert ("ConfigMap", "foreign") in world.objects


@pytest.mark.parametrize(
    ("key", "reason"), [("token", Reason.TOKEN_INVALID), ("bearer", Reason.BEARER_INVALID)]
)
def test_a_bad_secret_stops_everything(key: str, reason: Reason) -> None:
    todo = plan(cluster(), World(secrets={key: SecretState.INVALID}))
    assert todo.actions == ()
    assert todo.problem is not None
    assert todo.problem.reason is reason
    assert f"ads-{key}" in todo.problem.message


@pytest.mark.parametrize("key", ["token", "bearer"])
def test_the_secret_of_a_deleted_cluster_is_not_used(key: str) -> None:
    todo = plan(cluster(), World(secrets={key: SecretState.FOREIGN}))
    assert todo.actions == ()
    assert todo.problem is not None
    assert todo.problem.reason is Reason.NAME_CONFLICT
    assert f"Secret ads-{key}" in todo.problem.message


def test_a_token_without_controller_is_adopted() -> None:
    (adopted,) = (
        action.child.manifest
        for action in plan(cluster(), World(secrets={"token": SecretState.UNOWNED})).actions
        if isinstance(action, Apply) and action.child.kind == "Secret"
    )
    assert adopted["metadata"]["ownerReferences"][0]["uid"] == cluster().uid
    assert adopted["metadata"]["uid"] == "uid-of-token"
    assert "data" not in adopted


def test_a_cluster_without_token_reports_it_and_keeps_its_pods() -> None:
    world = World()
    settle(cluster(), world)
    world.secrets["token"] = SecretState.LOST
    todo = plan(cluster({"image": "node:2"}), world)
    assert not [action for action in todo.actions if isinstance(action, MakeSecret | DeletePod)]
    assert todo.problem is not None
    assert todo.problem.reason is Reason.TOKEN_LOST
    assert "kubectl delete pod -l partisan.dev/cluster=ads" in todo.problem.message
    # Running nodes still follow the rest.
    other = plan(cluster({"overlay": {"kind": "XBot"}}), world)
    assert [action for action in other.actions if isinstance(action, Configure)]


def test_the_token_is_made_once() -> None:
    world = World()
    settle(cluster(), world)
    assert world.secrets == dict.fromkeys(("token", "bearer"), SecretState.VALID)
    later = plan(cluster({"replicas": 9}), world).actions
    assert not [action for action in later if isinstance(action, MakeSecret)]


def of_an_earlier_operator(wanted: PartisanCluster) -> World:
    """Return a world whose pods are from before the bearer, with an image of that time."""
    world = World(interface=1)
    settle(wanted, world)
    for child in desired_children(wanted, IMAGE, bearer=False).stateful_sets:
        world.objects[child.key] |= {"spec": child.manifest["spec"]}
        world.objects[child.key]["metadata"] |= child.manifest["metadata"]
    world.pods.clear()
    world.step()
    world.step()
    return world


def bearers(world: World) -> set[bool]:
    sets = (live for (kind, _), live in world.objects.items() if kind == "StatefulSet")
    return {has_bearer(live["spec"]["template"]["metadata"]) for live in sets}


def test_pods_of_an_earlier_operator_stay_until_their_image_supports_the_bearer() -> None:
    tls = {"security": {"tls": {"secretName": "mine"}}}
    world = of_an_earlier_operator(cluster(tls))
    before = {pod.uid for pod in world.pods.values()}
    settle(cluster(tls), world)
    assert {pod.uid for pod in world.pods.values()} == before
    # A change of anything but the image keeps the features of the image.
    settle(cluster(tls | {"resources": {"limits": {"memory": "128Mi"}}}), world)
    assert {pod.uid for pod in world.pods.values()}.isdisjoint(before)
    assert bearers(world) == {False}


def test_another_image_brings_the_bearer() -> None:
    world = of_an_earlier_operator(cluster())
    settle(cluster({"image": "node:2"}), world)
    assert bearers(world) == {True}


def test_nodes_that_support_the_bearer_get_it() -> None:
    world = of_an_earlier_operator(cluster())
    world.interface = 2
    settle(cluster(), world)
    assert bearers(world) == {True}
    # And keep it, whatever nodes report later.
    world.interface = 1
    assert not plan(cluster(), world).changes


@pytest.mark.parametrize("kind", ["StatefulSet", "ConfigMap", "Service", "PodDisruptionBudget"])
def test_drift_is_repaired(kind: str) -> None:
    world = World()
    settle(cluster(), world)
    name = "ads-config" if kind == "ConfigMap" else "ads"
    part = "data" if kind == "ConfigMap" else "spec"
    live = world.objects[kind, name]
    live[part] = dict.fromkeys(live[part], 77) | {"template": live[part].get("template")}
    todo = plan(cluster(), world)
    assert [action.child.kind for action in todo.actions] == [kind]  # type: ignore[union-attr]
    del world.objects[kind, name]
    todo = plan(cluster(), world)
    assert [action.child.kind for action in todo.actions] == [kind]  # type: ignore[union-attr]


def test_a_child_that_is_no_longer_wanted_goes() -> None:
    world = World()
    settle(cluster(), world)
    settle(cluster({"networkPolicy": {"enabled": False}}), world)
    assert ("NetworkPolicy", "ads") not in world.objects


MONITOR = ("PodMonitor", "ads-nodes")


@pytest.mark.parametrize(
    ("mode", "found", "nodes_monitored", "wanted"),
    [
        ("Auto", PodMonitors.AVAILABLE, False, True),
        ("Auto", PodMonitors.AVAILABLE, True, False),
        ("Auto", PodMonitors.UNAVAILABLE, False, False),
        ("Auto", PodMonitors.UNKNOWN, False, False),
        ("Enabled", PodMonitors.AVAILABLE, False, True),
        ("Enabled", PodMonitors.AVAILABLE, True, True),
        ("Enabled", PodMonitors.UNAVAILABLE, False, False),
        ("Disabled", PodMonitors.AVAILABLE, False, False),
    ],
)
def test_a_cluster_gets_a_pod_monitor_if_requested_and_available(
    mode: str, found: PodMonitors, nodes_monitored: bool, wanted: bool
) -> None:
    world = World(monitors=found)
    installation = Installation(IMAGE, nodes_monitored=nodes_monitored)
    settle(cluster({"metrics": {"podMonitor": mode}}), world, installation)
    assert (MONITOR in world.objects) == wanted
    # An observation of StatefulSets alone does not include it.
    assert plan(cluster({"metrics": {"podMonitor": mode}}), world, complete=False).actions == ()
    problem = missing_kind(MonitorMode(mode), found)
    assert (problem is not None) == (mode == "Enabled" and not wanted)
    settle(cluster({"metrics": {"podMonitor": "Disabled"}}), world)
    assert MONITOR not in world.objects


def test_a_broken_image_stops_the_rollout_after_one_batch_and_a_good_one_resumes_it() -> None:
    world = World(broken_images={"node:bad"})
    settle(cluster({"replicas": 20}), world)
    broken = cluster({"replicas": 20, "image": "node:bad"})
    for _ in range(30):
        world.perform(plan(broken, world))
        world.step()
    assert sum(pod.image == "node:bad" for pod in world.pods.values()) == 2
    assert plan(broken, world).outdated == 18
    settle(cluster({"replicas": 20, "image": "node:good"}), world)
    assert {pod.image for pod in world.pods.values()} == {"node:good"}


def test_a_paused_cluster_is_left_alone() -> None:
    world = World()
    settle(cluster(), world)
    assert plan(cluster({"paused": True, "replicas": 9, "image": "x"}), world).actions == ()


def test_the_run_starts_when_all_nodes_wait_in_one_overlay() -> None:
    wanted = cluster({"workload": {"adCounter": {"impressions": 5}}})
    world = World()
    settle(wanted, world)
    assert world.started == []  # the nodes of this world know no workload


def test_deleting_a_pod_needs_the_uid_that_was_seen() -> None:
    world = World()
    settle(cluster(), world)
    todo = plan(cluster({"image": "node:2"}), world)
    world.perform(todo)
    world.step()
    todo = plan(cluster({"image": "node:2"}), world)
    (action,) = (a for a in todo.actions if isinstance(a, DeletePod))
    name = action.pod.name
    world.pods[name] = Pod(name, "successor", action.pod.owner, "new", "node:2", "")
    world.perform(todo)
    assert world.pods[name].uid == "successor"


def test_running_nodes_are_configured_and_no_pod_is_replaced() -> None:
    world = World()
    settle(cluster({"replicas": 5}), world)
    pods = {pod.uid for pod in world.pods.values()}
    changed = cluster({"replicas": 5, "overlay": {"kind": "Static", "static": {"pattern": "Ring"}}})
    todo = plan(changed, world)
    sent = [action for action in todo.actions if isinstance(action, Configure)]
    assert [node.pod for node in sent[0].nodes] == names(world)
    kinds = [type(action) for action in todo.actions]
    assert kinds.index(Apply) < kinds.index(Configure)
    world.perform(todo)
    assert plan(changed, world).actions == ()
    # A node that restarts in place with the previous file is configured again.
    world.pods["ads-3"].configuration = render_config(cluster({"replicas": 5}))
    (again,) = plan(changed, world).actions
    assert isinstance(again, Configure)
    assert [node.pod for node in again.nodes] == ["ads-3"]
    assert {pod.uid for pod in world.pods.values()} == pods


def test_a_paused_cluster_is_not_configured() -> None:
    world = World()
    settle(cluster(), world)
    assert plan(cluster({"overlay": {"kind": "FullMesh"}, "paused": True}), world).actions == ()


@pytest.mark.parametrize(
    ("annotations", "allowed", "named"),
    [
        ({"sidecar.istio.io/inject": "true"}, None, "sidecar.istio.io/inject"),
        ({"sidecar.istio.io/inject": "true"}, ["sidecar.istio.io/*"], ""),
        ({"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}, [], ""),
        ({"linkerd.io/inject": "enabled"}, None, "linkerd.io/inject"),
        ({"linkerd.io/skip-outbound-ports": "false"}, None, "linkerd.io/skip-outbound-ports"),
        ({"k8s.v1.cni.cncf.io/networks": "a"}, ["*"], ""),
        ({"example.org/owner": "me"}, None, ""),
        ({"example.org/owner": "me"}, [], "example.org/owner"),
        ({"example.organic/owner": "me"}, None, "example.organic/owner"),
    ],
)
def test_annotations_that_are_not_allowed_reach_no_pod(
    annotations: dict[str, str], allowed: list[str] | None, named: str
) -> None:
    """For clusters older than the rule in the CRD."""
    wanted = cluster({"pods": {"annotations": annotations}})
    observation = World().observe()
    extra = {} if allowed is None else {"allowed_annotations": tuple(allowed)}
    installation = Installation(IMAGE, **extra)
    children = reconcile.desired(wanted, installation)
    todo = reconcile.plan(wanted, children, observation, installation)
    if named:
        assert todo.actions == ()
        assert todo.problem is not None
        assert todo.problem.reason == "InvalidSpec"
        assert named in todo.problem.message
        assert "allowedPodAnnotations" in todo.problem.message
    else:
        assert todo.problem is None
        assert todo.actions


def test_edges_that_do_not_connect_all_nodes_reach_no_node() -> None:
    """More replicas than the API server checks."""
    edges = [[n - 1, n] for n in range(1, 100) if n != 50] + [[0, 2]]
    wanted = cluster({"replicas": 100, "overlay": {"kind": "Static", "static": {"edges": edges}}})
    todo = plan(wanted, World())
    assert todo.actions == ()
    assert todo.problem is not None
    assert "would not connect ordinals 50, 51" in todo.problem.message
