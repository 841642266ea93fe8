"""Children without an owner are adopted by the cluster of their name; foreign objects are not."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from loop_rig import CLUSTER, MANIFEST, NAMESPACE, SECRET, SET, Rig
from partisan_operator.children import certificate, credentials
from partisan_operator.children.child import owned_by
from partisan_operator.children.orphan import orphan_of
from partisan_operator.decide import reconcile
from partisan_operator.decide.actions import Adopt, DeletePod, Plan
from partisan_operator.decide.certificates import certificate_plan
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Reason
from partisan_operator.observe.certificate_secrets import read_store
from partisan_operator.observe.certificates import Issued
from partisan_operator.observe.observation import Observation, SecretState
from world import INSTALLATION, START, World, cluster

TOKEN = f"/api/v1{NAMESPACE}/secrets/ads-token"


def plan(wanted: PartisanCluster, world: World, *, complete: bool = True) -> Plan:
    children = reconcile.desired(wanted, INSTALLATION)
    return reconcile.plan(wanted, children, world.observe(complete=complete), INSTALLATION)


def settle(wanted: PartisanCluster, world: World) -> None:
    for _ in range(8):
        world.perform(plan(wanted, world))
        world.step()
    assert plan(wanted, world).actions == ()


def orphaned(spec: dict[str, Any]) -> tuple[World, PartisanCluster]:
    """Return the world after the orphaning deletion of a cluster, and the next one of its name."""
    world, heir = World(), cluster(spec, uid="the-heir")
    settle(cluster(spec), world)
    for (kind, name), live in world.objects.items():
        live |= {"kind": kind}
        live["metadata"] |= {"name": name, "ownerReferences": []}
    world.secrets = dict.fromkeys(world.secrets, SecretState.UNOWNED)
    world.owner = heir
    return world, heir


@pytest.mark.parametrize("replicas", [3, 252])
def test_the_heir_adopts_all_children_first_and_replaces_no_pod(replicas: int) -> None:
    world, heir = orphaned({"replicas": replicas})
    pods = {name: pod.uid for name, pod in world.pods.items()}
    first = plan(heir, world)
    assert {type(action) for action in first.actions} == {Adopt}
    assert {(a.orphan.kind, a.orphan.name) for a in first.actions if isinstance(a, Adopt)} == set(
        world.objects
    )
    for _ in range(4):
        todo = plan(heir, world)
        assert not any(isinstance(action, DeletePod) for action in todo.actions)
        world.perform(todo)
        world.secrets = dict.fromkeys(world.secrets, SecretState.VALID)
        world.step()
    assert plan(heir, world).actions == ()
    assert {name: pod.uid for name, pod in world.pods.items()} == pods
    assert all(owned_by(live, heir.uid) for live in world.objects.values())


def test_no_token_is_made_before_the_pods_that_may_have_lost_one_are_the_heirs() -> None:
    world, heir = orphaned({"replicas": 3})
    world.secrets = {}
    assert {type(action) for action in plan(heir, world).actions} == {Adopt}


def test_an_heir_with_fewer_nodes_scales_down_as_any_cluster() -> None:
    world, _ = orphaned({"replicas": 252})
    world.owner = heir = cluster({"replicas": 3}, uid="the-heir")
    world.perform(plan(heir, world))
    shards = world.observe().shards(heir)
    assert [shard.wanted for shard in shards] == [250, 2]
    world.secrets = dict.fromkeys(world.secrets, SecretState.VALID)
    settle(heir, world)
    assert ("StatefulSet", "ads-s1") not in world.objects
    assert ("Service", "ads-s1") not in world.objects


def test_a_copy_of_a_shard_under_another_name_is_neither_adopted_nor_deleted() -> None:
    world, heir = orphaned({"replicas": 3})
    copy = deepcopy(world.objects["StatefulSet", "ads"])
    copy["metadata"] |= {"name": "ads-copy", "uid": "uid-of-the-copy"}
    copy["spec"]["replicas"] = 0
    world.objects["StatefulSet", "ads-copy"] = copy
    world.perform(plan(heir, world))
    world.secrets = dict.fromkeys(world.secrets, SecretState.VALID)
    settle(heir, world)
    assert world.objects["StatefulSet", "ads-copy"] is copy
    assert not owned_by(copy, heir.uid)


@pytest.mark.parametrize(
    "field", [{"serviceName": "x"}, {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}]
)
def test_an_orphan_of_another_shape_is_a_conflict_that_names_the_field(
    field: dict[str, Any],
) -> None:
    world, heir = orphaned({"replicas": 3})
    world.objects["StatefulSet", "ads"]["spec"] |= field
    todo = plan(heir, world)
    assert todo.actions == ()
    assert todo.problem is not None
    assert todo.problem.reason is Reason.NAME_CONFLICT
    assert f"spec.{next(iter(field))}" in todo.problem.message


def test_an_orphan_with_the_heirs_claims_in_another_order_is_adopted() -> None:
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"name": name, "spec": storage} for name in ("data", "cache")]
    world, _ = orphaned({"replicas": 3, "pods": {"volumeClaimTemplates": claims}})
    heir = cluster({"replicas": 3, "pods": {"volumeClaimTemplates": claims[::-1]}}, uid="the-heir")
    first = plan(heir, world)
    assert first.problem is None
    assert {type(action) for action in first.actions} == {Adopt}


def test_a_paused_heir_adopts_nothing() -> None:
    world, heir = orphaned({"replicas": 3})
    paused = replace(heir, spec=heir.spec.model_copy(update={"paused": True}))
    assert plan(paused, world).actions == ()


def test_an_orphan_is_known_by_labels_annotation_and_the_absence_of_a_controller() -> None:
    world, _ = orphaned({"replicas": 3})
    live = world.objects["ConfigMap", "ads-config"]
    other_owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}
    live["metadata"]["ownerReferences"] = [other_owner]
    found = orphan_of("ConfigMap", live, "ads")
    assert found is not None
    assert found.owners == (other_owner,)
    assert orphan_of("ConfigMap", live, "another") is None
    # Those of a deleted cluster are about to be deleted too.
    for metadata in (
        {"ownerReferences": [cluster(uid="deleted").owner_reference()]},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"annotations": {}},
        {"labels": {"partisan.dev/cluster": "ads"}},
    ):
        changed = {**live, "metadata": {**live["metadata"], **metadata}}
        assert orphan_of("ConfigMap", changed, "ads") is None


def test_the_secrets_of_an_own_authority_are_adopted_before_any_rotation() -> None:
    wanted = cluster({"security": {"tls": {"clusterCa": {}}}}, uid="the-heir")
    made = (
        credentials.authority(cluster(), "certificate", "key", None),
        credentials.nodes(cluster(), "certificate", "key", "authorities", None),
    )
    authority, nodes = (deepcopy(child.manifest) for child in made)
    for secret in (authority, nodes):
        secret["metadata"] |= {"uid": "u", "resourceVersion": "1", "ownerReferences": []}
    store = read_store(authority, nodes, wanted.uid)
    assert (store.foreign, [orphan.name for orphan in store.orphans]) == ((), ["ads-ca", "ads-tls"])
    found = certificate_plan(wanted, Observation(START, tls=store))
    assert found.orphans == store.orphans
    assert (found.step, found.conflict, found.unsettled) == (None, None, True)


def test_a_certificate_of_cert_manager_is_adopted() -> None:
    spec = {"security": {"tls": {"issuerRef": {"name": "ca"}}}}
    made = certificate.build(cluster(spec))
    assert made is not None
    live = deepcopy(made.manifest)
    live["metadata"] |= {"uid": "u", "ownerReferences": []}
    found = certificate_plan(cluster(spec), Observation(START, tls=Issued(live=live)))
    assert [orphan.kind for orphan in found.orphans] == ["Certificate"]
    assert found.conflict is None


async def test_a_cluster_made_again_takes_its_pods_over_and_says_so(rig: Rig) -> None:
    await rig.converge()
    rig.make_resync_due()
    await rig.reconcile()
    generation = rig.api.objects[SET]["metadata"]["generation"]
    secret = rig.api.objects[TOKEN]["data"]
    for live in rig.api.objects.values():
        live["metadata"].pop("ownerReferences", None)
    del rig.api.objects[CLUSTER]
    rig.api.put(CLUSTER, {**MANIFEST, "metadata": {**MANIFEST["metadata"], "uid": "the-heir"}})
    for _ in range(3):
        await rig.reconcile()
    for path in (SET, TOKEN, SECRET, f"/api/v1{NAMESPACE}/configmaps/ads-config"):
        assert owned_by(rig.api.objects[path], "the-heir"), path
    assert rig.api.objects[SET]["metadata"]["generation"] == generation
    assert rig.api.objects[TOKEN]["data"] == secret
    assert rig.condition("Ready")["status"] == "True"
    assert rig.condition("Degraded")["status"] == "False"
    # The counts are those of the nodes, which went on.
    assert (rig.status["workload"]["value"], rig.status["workload"]["incrementsSum"]) == (6, 6)
    assert rig.status["defaultImage"] == {"image": "node:1", "rollout": "Created"}
    assert "StatefulSet ads" in rig.event("Adopted")["message"]
