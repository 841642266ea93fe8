"""Volumes that outlive the pods."""

from typing import Any

import pytest

from partisan_operator.children import pod_volumes
from partisan_operator.models.pods import Pods
from partisan_operator.models.variables import OWN_VARIABLES
from world import manifest

CLAIM = {
    "name": "data",
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
OWN: dict[str, Any] = {
    "volumeClaimTemplates": [CLAIM, CLAIM | {"name": "cache"}],
    "stateClaim": "data",
    "volumeMounts": [{"name": "cache", "mountPath": "/srv/cache"}],
}


def stateful_set(**pods: Any) -> dict[str, Any]:
    found: dict[str, Any] = manifest("StatefulSet", pods=pods)["spec"]
    return found


def node(**pods: Any) -> dict[str, Any]:
    found: dict[str, Any] = stateful_set(**pods)["template"]["spec"]["containers"][0]
    return found


def test_claims_are_those_of_the_stateful_set() -> None:
    claims = stateful_set(**OWN)["volumeClaimTemplates"]
    assert [claim["metadata"] for claim in claims] == [{"name": "cache"}, {"name": "data"}]
    assert claims[1]["spec"] == CLAIM["spec"]


def test_the_order_of_claims_changes_nothing() -> None:
    """The API server accepts another order in the cluster's spec, and none in a StatefulSet."""
    backwards = OWN | {"volumeClaimTemplates": OWN["volumeClaimTemplates"][::-1]}
    assert stateful_set(**backwards) == stateful_set(**OWN)


def test_claims_are_kept_unless_the_spec_says_otherwise() -> None:
    field = "persistentVolumeClaimRetentionPolicy"
    kept = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert stateful_set(**OWN)[field] == kept
    own = stateful_set(**OWN, persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete"})
    assert own[field] == kept | {"whenScaled": "Delete"}


def test_without_claims_a_stateful_set_is_as_before() -> None:
    """So that no existing cluster is changed."""
    assert not {"volumeClaimTemplates", "persistentVolumeClaimRetentionPolicy"} & (
        stateful_set().keys()
    )
    assert "PARTISAN_STATE" not in {variable["name"] for variable in node()["env"]}


def test_a_state_claim_replaces_the_volume_in_memory() -> None:
    mounts = {mount["mountPath"]: mount["name"] for mount in node(**OWN)["volumeMounts"]}
    assert mounts["/var/lib/partisan"] == "data"
    assert mounts["/srv/cache"] == "cache"
    volumes = stateful_set(**OWN)["template"]["spec"]["volumes"]
    assert not {"state", "data", "cache"} & {volume["name"] for volume in volumes}


def test_a_node_flushes_what_it_records_in_a_claim() -> None:
    assert {"name": "PARTISAN_STATE", "value": "disk"} in node(**OWN)["env"]
    assert {variable["name"] for variable in node(**OWN)["env"]} <= set(OWN_VARIABLES)


@pytest.mark.parametrize("state", ["", "data"])
def test_the_template_has_the_mounts_that_made_it(state: str) -> None:
    """So that an undo can restore them; a template says nothing of claims."""
    template = stateful_set(**OWN | {"stateClaim": state})["template"]["spec"]
    restored = pod_volumes.from_template(template, template["containers"][0])
    assert Pods.model_validate(restored) == Pods.model_validate(
        {"volumeMounts": OWN["volumeMounts"]}
    )
