"""Clusters that a CRD without today's rules accepted can be changed after an upgrade of it.

The API server evaluates a new rule for what an update changes. A stored cluster that breaks it can
still be paused, scaled, reported on and repaired, in steps; it cannot be made worse.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
import yaml

from scale_tests.cluster.kube import Cluster, Json
from scale_tests.cluster.subject import manifest
from scale_tests.e2e import crd_copy
from scale_tests.host.commands import ROOT


@dataclass(frozen=True)
class Stored:
    """A spec that an earlier CRD accepts and the current one refuses."""

    spec: Json
    named: str
    """The field that the refusal of a new one names."""

    steps: tuple[Json, ...] = ()
    """Updates that leave it broken, though no more than before."""

    worse: tuple[Json, ...] = ()
    """Updates that are refused."""

    fixes: tuple[Json, ...] = field(default=())
    """Updates after which it breaks no rule."""

    scaled: int | None = 5
    """A number of replicas to which it can be scaled before it is fixed."""


def _default(**channel: Any) -> Json:
    return {"channels": [{"name": "default", **channel}]}


def _lanes(number: int) -> Json:
    return _default(parallelism=number, queueLimit="64Ki")


def _static(*edges: list[int]) -> Json:
    return {"overlay": {"kind": "Static", "static": {"edges": list(edges)}}}


_CUSTOM = {"custom": {"module": "mine"}, "synchronization": "Delta"}
_OFTEN = {"ads": 100, "impressions": 100_000, "propagationInterval": "50ms"}
_ADS = {"adCounter": {"ads": 1024, "impressions": 100_000}}

STORED = {
    "queues": Stored(
        _default(parallelism=128),
        "spec.channels",
        steps=({"resources": {"limits": {"memory": "768Mi"}}},),
        worse=({"resources": {"limits": {"memory": "256Mi"}}}, _default(parallelism=120)),
        fixes=(_default(parallelism=8), {"resources": {"limits": {"memory": "2Gi"}}}),
    ),
    "connections": Stored(
        {"replicas": 200, "overlay": {"kind": "FullMesh"}, **_lanes(100)},
        "spec.channels",
        steps=({"replicas": 180}, _lanes(90)),
        worse=({"replicas": 220}, _lanes(101)),
        fixes=({"overlay": {"kind": "HyParView"}}, _lanes(60)),
        scaled=180,
    ),
    "ads": Stored(
        {"replicas": 256, "workload": _ADS},
        "spec.workload",
        steps=({"replicas": 200}, {"workload": {"adCounter": {"ads": 1000}}}),
        worse=({"replicas": 257}, {"replicas": 300, "paused": True}),
        fixes=({"workload": {"synchronization": "Aggregate"}}, {"replicas": 128}),
        scaled=200,
    ),
    "states": Stored(
        {"replicas": 200, "workload": {"adCounter": _OFTEN, "synchronization": "State"}},
        "spec.workload.adCounter.propagationInterval",
        steps=({"replicas": 180},),
        fixes=({"workload": {"adCounter": {"propagationInterval": "100ms"}}},),
        worse=({"workload": {"adCounter": {"propagationInterval": "99ms"}}},),
        scaled=190,
    ),
    "edges": Stored(
        {"replicas": 4, **_static([0, 1], [2, 3], [0, 1])},
        "spec.overlay.static.edges",
        worse=(_static([0, 1], [2, 3], [2, 3]), {"replicas": 3}),
        fixes=(_static([0, 1], [2, 3], [1, 2]), {"overlay": {"kind": "HyParView", "static": None}}),
        scaled=None,
    ),
    "custom": Stored(
        {"workload": _CUSTOM},
        "spec.workload.synchronization",
        steps=({"workload": {"custom": {"arguments": [{"name": "a", "value": 1}]}}},),
        worse=({"workload": {"synchronization": "State"}},),
        fixes=({"workload": {"synchronization": None}},),
    ),
    "token": Stored(
        {"security": {"tls": {"secretName": "token-token"}}},
        "spec.security.tls.secretName",
    ),
    "image": Stored({"image": "Upper/Case:1"}, "spec.image", fixes=({"image": "lower/case:1"},)),
    "priority": Stored({"priorityClassName": "Not A Name"}, "spec.priorityClassName"),
    "selector": Stored({"nodeSelector": {"a b": "c"}}, "spec.nodeSelector"),
    "tolerations": Stored(
        {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "spec.tolerations"
    ),
    "resources": Stored(
        {"resources": {"limits": {"memory": "32Mi"}}},
        "spec.resources",
        fixes=({"resources": {"limits": {"memory": "64Mi"}}},),
    ),
    "affinity": Stored({"affinity": {"podAntiAffinity": {"unknown": 1}}}, "unknown"),
}


def _earlier(current: Json) -> Json:
    """A CRD of one version that has no rules, and of affinity no schema, as the first release."""
    earlier = cast(Json, _without_rules(current))
    del earlier["spec"]["versions"][1:]
    spec = earlier["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    opaque = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec["properties"]["affinity"] = opaque
    return earlier


def _without_rules(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_rules(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    kept = {name: value for name, value in node.items() if name != "x-kubernetes-validations"}
    return {name: _without_rules(value) for name, value in kept.items()}


@pytest.fixture(scope="module", autouse=True)
def upgraded(cluster: Cluster, namespace: str) -> Iterator[None]:
    """Clusters that were stored by an earlier CRD, under the current one."""
    current = yaml.safe_load((ROOT / "crds" / "partisanclusters.yaml").read_text())
    with crd_copy.copied(cluster, _earlier(current)):
        for name, stored in STORED.items():
            body = crd_copy.of(manifest(name, stored.spec.get("replicas", 3)))
            body["spec"].update(stored.spec)
            cluster.create(crd_copy.path(namespace), body)
        crd_copy.replace(cluster, current)
        probe = manifest("probe", 3, image="Upper/Case:1")
        crd_copy.wait_refused(cluster, namespace, probe)
        yield


@pytest.mark.parametrize("name", STORED)
def test_a_new_cluster_like_it_is_refused(cluster: Cluster, namespace: str, name: str) -> None:
    body = manifest(f"new-{name}", 3)
    body["spec"].update(STORED[name].spec)
    if name == "token":
        body["metadata"]["name"] = name
    assert STORED[name].named in crd_copy.refusal(cluster, namespace, body)


@pytest.mark.parametrize("name", STORED)
def test_a_stored_cluster_can_be_paused_scaled_and_reported_on(
    cluster: Cluster, namespace: str, name: str
) -> None:
    for change in ({"paused": True}, {"metrics": {"interval": "30s"}, "paused": True}):
        assert crd_copy.update_refusal(cluster, namespace, name, change) == ""
    if (replicas := STORED[name].scaled) is not None:
        assert crd_copy.scale_refusal(cluster, namespace, name, replicas) == ""
    path = crd_copy.path(namespace, name)
    cluster.patch(f"{path}/status", {"status": {"phase": "Paused"}})
    assert cluster.get(path)["status"]["phase"] == "Paused"


@pytest.mark.parametrize("name", STORED)
def test_a_stored_cluster_can_be_repaired_in_steps_and_not_made_worse(
    cluster: Cluster, namespace: str, name: str
) -> None:
    stored = STORED[name]
    for change in (*stored.steps, *stored.fixes):
        assert crd_copy.update_refusal(cluster, namespace, name, change) == ""
    for change in stored.worse:
        assert crd_copy.update_refusal(cluster, namespace, name, change) != ""
