"""The token and the bearer: creation, ownership, loss, and the pods that get them."""

import base64
import copy
from typing import Any

import pytest

from loop_rig import CLUSTER, NAMESPACE, SET, SLICE, Rig
from partisan_operator.children.node_http import ANNOTATION
from partisan_operator.observe.observation import Trust
from partisan_operator.observe.scraper import RefusedError

SECRETS = f"/api/v1{NAMESPACE}/secrets"
TOKEN, BEARER = f"{SECRETS}/ads-token", f"{SECRETS}/ads-bearer"
PODS = f"/api/v1{NAMESPACE}/pods"


def value_of(rig: Rig, path: str) -> str:
    data = rig.api.objects[path]["data"]
    return base64.b64decode(data[path.rpartition("-")[2]]).decode()


def add_pods(rig: Rig, *, bearer: bool = True, phase: str = "Running") -> None:
    """Add the pods' objects, as the StatefulSet controller would."""
    owner = {"uid": rig.api.objects[SET]["metadata"]["uid"], "controller": True}
    for ordinal in range(3):
        metadata: dict[str, Any] = {
            "name": f"ads-{ordinal}",
            "uid": f"pod-{ordinal}",
            "labels": {"partisan.dev/cluster": "ads", "controller-revision-hash": "r"},
            "annotations": {ANNOTATION: "2"} if bearer else {},
            "ownerReferences": [owner],
        }
        pod = {"metadata": metadata, "status": {"phase": phase}}
        rig.api.put(f"{PODS}/ads-{ordinal}", pod)


async def test_the_bearer_is_a_secret_of_its_own(rig: Rig) -> None:
    await rig.converge()
    assert value_of(rig, BEARER) != value_of(rig, TOKEN)
    assert {token for _, token, _ in rig.nodes.started} == {value_of(rig, BEARER)}


async def test_a_missing_bearer_is_replaced(rig: Rig) -> None:
    await rig.converge()
    before = value_of(rig, BEARER)
    del rig.api.objects[BEARER]
    rig.make_resync_due()
    await rig.reconcile()
    assert value_of(rig, BEARER) != before


async def test_no_second_token_is_made_under_running_nodes(rig: Rig) -> None:
    await rig.converge()
    add_pods(rig)
    kept = rig.api.objects.pop(TOKEN)
    rig.make_resync_due()
    await rig.reconcile()
    assert TOKEN not in rig.api.objects
    degraded = rig.condition("Degraded")
    assert (degraded["status"], degraded["reason"]) == ("True", "TokenLost")
    assert "kubectl delete pod -l partisan.dev/cluster=ads" in degraded["message"]
    rig.api.put(TOKEN, kept)
    rig.make_resync_due()
    await rig.reconcile()
    assert rig.condition("Degraded")["status"] == "False"


async def test_a_lost_token_lists_no_pods_while_nodes_have_addresses(rig: Rig) -> None:
    await rig.converge()
    add_pods(rig)
    del rig.api.objects[TOKEN]
    rig.make_resync_due()
    await rig.reconcile()
    rig.api.log.clear()
    rig.make_resync_due()
    await rig.reconcile()
    assert rig.condition("Degraded")["reason"] == "TokenLost"
    assert PODS not in {request.path for request in rig.api.log}


async def test_pods_without_addresses_are_listed_before_another_token_is_made(rig: Rig) -> None:
    await rig.converge()
    add_pods(rig)
    rig.api.objects[SLICE]["endpoints"] = []
    del rig.api.objects[TOKEN]
    rig.make_resync_due()
    await rig.reconcile()
    assert PODS in {request.path for request in rig.api.log}
    assert TOKEN not in rig.api.objects


async def test_pods_that_have_never_run_get_another_token(rig: Rig) -> None:
    await rig.converge()
    add_pods(rig, phase="Pending")
    rig.api.objects[SLICE]["endpoints"] = []
    del rig.api.objects[TOKEN]
    rig.make_resync_due()
    await rig.reconcile()
    assert TOKEN in rig.api.objects


async def test_no_pod_is_made_with_the_token_of_a_deleted_cluster(rig: Rig) -> None:
    await rig.reconcile()
    left = rig.api.objects[TOKEN]
    left["metadata"]["ownerReferences"][0]["uid"] = "of-a-deleted-cluster"
    for path in (SET, BEARER):
        del rig.api.objects[path]
    rig.make_resync_due()
    await rig.reconcile()
    assert SET not in rig.api.objects
    assert rig.condition("Degraded")["reason"] == "NameConflict"
    # The garbage collector deletes it, and the next reconcile creates the cluster's own.
    del rig.api.objects[TOKEN]
    await rig.reconcile()
    assert SET in rig.api.objects
    assert value_of(rig, TOKEN) != base64.b64decode(left["data"]["token"]).decode()


async def test_a_token_without_an_owner_is_adopted(rig: Rig) -> None:
    await rig.reconcile()
    kept = rig.api.objects[TOKEN]
    before = value_of(rig, TOKEN)
    del kept["metadata"]["ownerReferences"]
    rig.make_resync_due()
    await rig.reconcile()
    uid = rig.api.objects[CLUSTER]["metadata"]["uid"]
    assert rig.api.objects[TOKEN]["metadata"]["ownerReferences"][0]["uid"] == uid
    assert value_of(rig, TOKEN) == before


async def test_only_pods_of_an_earlier_operator_are_shown_the_token(rig: Rig) -> None:
    await rig.converge()
    template = rig.api.objects[SET]["spec"]["template"]
    earlier = copy.deepcopy(template)
    del earlier["metadata"]["annotations"][ANNOTATION]
    rig.api.objects[SET]["spec"]["template"] = earlier
    rig.nodes.configured.clear()
    rig.change({"overlay": {"kind": "XBot"}})
    await rig.reconcile()
    assert {token for _, token in rig.nodes.configured} == {value_of(rig, TOKEN)}


@pytest.mark.parametrize("bearer", [True, False])
async def test_requests_follow_each_pods_template_during_a_rollout(rig: Rig, bearer: bool) -> None:
    ca = base64.b64encode(b"PEM").decode()
    rig.api.put(f"{SECRETS}/mine", {"metadata": {"name": "mine"}, "data": {"ca.crt": ca}})
    rig.change({"security": {"tls": {"secretName": "mine"}}})
    await rig.reconcile()
    rig.bring_up_pods()
    add_pods(rig, bearer=bearer)
    rig.api.objects[SET]["status"]["updatedReplicas"] = 0
    assert SLICE in rig.api.objects
    await rig.reconcile()
    observation = rig.loop._reconciler.observation
    assert observation is not None
    trust = Trust("PEM", "ads.default.svc") if bearer else None
    access = {(node.bearer, node.trust) for node in observation.endpoints.values()}
    assert access == {(bearer, trust)}


@pytest.mark.parametrize(
    ("bearer", "reason", "fix"),
    [(True, "BearerRefused", "spec.image"), (False, "TokenMismatch", "delete all pods")],
)
async def test_a_401_says_what_to_do(rig: Rig, bearer: bool, reason: str, fix: str) -> None:
    await rig.converge()
    if not bearer:
        del rig.api.objects[SET]["spec"]["template"]["metadata"]["annotations"][ANNOTATION]
    rig.nodes.refusal = RefusedError("ads-1 to /configuration: 401 no", unauthorized=True)
    rig.change({"overlay": {"kind": "XBot"}})
    await rig.reconcile()
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == reason
    assert fix in degraded["message"]
