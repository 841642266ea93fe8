"""The manifests of a cluster's children, and their comparison with live objects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.children import desired_children, naming
from partisan_operator.children.child import contains, up_to_date
from partisan_operator.children.shared_secrets import BEARER, TOKEN, SharedSecret
from strategies import specs
from world import cluster, manifest


@pytest.mark.parametrize(
    ("replicas", "shards"),
    [
        (1, [("ads", 0, 1)]),
        (250, [("ads", 0, 250)]),
        (251, [("ads", 0, 250), ("ads-s1", 250, 1)]),
        (1024, [(f"ads-s{k}" if k else "ads", 250 * k, 250 if k < 4 else 24) for k in range(5)]),
    ],
)
def test_shards(replicas: int, shards: list[tuple[str, int, int]]) -> None:
    found = naming.shards_of("ads", replicas)
    assert [(shard.name, shard.start, shard.replicas) for shard in found] == shards


@given(st.integers(1, 1024))
def test_every_ordinal_names_one_pod_and_fits_a_dns_label(replicas: int) -> None:
    names = naming.pod_names("a" * 40, replicas)
    assert len(set(names)) == replicas
    assert max(map(len, names)) <= 63


@given(st.integers(1, 1024), st.integers(1, 8))
def test_seeds_are_distinct_pods_and_begin_with_the_first(replicas: int, seeds: int) -> None:
    ordinals = naming.seed_ordinals(replicas, seeds)
    assert len(set(ordinals)) == min(seeds, replicas)
    assert ordinals[0] == 0
    assert max(ordinals) < replicas


@given(specs())
def test_every_child_belongs_to_its_cluster_and_is_labelled(spec: dict[str, Any]) -> None:
    desired = desired_children(cluster(spec), "node:1")
    for child in desired.all:
        metadata = child.manifest["metadata"]
        assert metadata["ownerReferences"][0]["uid"] == "cluster-uid"
        assert metadata["ownerReferences"][0]["controller"]
        assert metadata["labels"]["partisan.dev/cluster"] == "ads"
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "partisan-operator"


@given(specs())
def test_a_child_just_applied_is_up_to_date(spec: dict[str, Any]) -> None:
    desired = desired_children(cluster(spec), "node:1")
    assert all(up_to_date(child, child.manifest) for child in desired.foundations)
    assert all(up_to_date(child, child.manifest) for child in desired.stateful_sets)


def test_a_pod_monitor_scrapes_the_nodes_of_one_cluster_at_its_interval() -> None:
    metrics = {"interval": "1m30s", "labels": {"release": "stack"}}
    found = manifest("PodMonitor", "ads-nodes", metrics=metrics)
    assert found["apiVersion"] == "monitoring.coreos.com/v1"
    assert found["metadata"]["labels"]["release"] == "stack"
    assert found["spec"]["selector"] == {"matchLabels": {"partisan.dev/cluster": "ads"}}
    (endpoint,) = found["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"]) == ("http", "/metrics")
    assert endpoint["interval"] == "90s"
    quick = manifest("PodMonitor", "ads-nodes", metrics={"interval": "1.5s"})
    assert quick["spec"]["podMetricsEndpoints"][0]["interval"] == "1500ms"


def test_the_service_is_headless_and_names_pods_before_they_are_ready() -> None:
    spec = manifest("Service", "ads-s1", replicas=300)["spec"]
    assert spec["clusterIP"] == "None"
    assert spec["publishNotReadyAddresses"]
    assert spec["selector"] == {"partisan.dev/cluster": "ads", "partisan.dev/shard": "1"}


def test_only_own_pods_reach_the_overlay_port() -> None:
    overlay, http = manifest("NetworkPolicy")["spec"]["ingress"]
    assert overlay["ports"] == [{"port": 7946, "protocol": "TCP"}]
    own = {"matchLabels": {"partisan.dev/cluster": "ads"}}
    assert overlay["from"] == [{"podSelector": own}]
    assert http == {"ports": [{"port": 8080, "protocol": "TCP"}]}
    off = desired_children(cluster({"networkPolicy": {"enabled": False}}), "node:1")
    assert off.find("NetworkPolicy", "ads") is None


def test_a_drain_removes_no_more_nodes_than_a_rollout() -> None:
    spec = manifest("PodDisruptionBudget", rollout={"maxUnavailable": "25%"})["spec"]
    assert spec["maxUnavailable"] == "25%"


@pytest.mark.parametrize("kind", [TOKEN, BEARER])
def test_a_value_is_read_back_and_invalid_ones_are_rejected(kind: SharedSecret) -> None:
    secret = kind.build(cluster(), "ab" * 32).manifest
    assert kind.value_in(secret) == "ab" * 32
    for value in (None, "", "!", "YWJj", "/////w=="):
        assert kind.value_in({"data": {kind.key: value} if value is not None else {}}) is None
    assert kind.value_in({}) is None


def test_kubelets_see_another_bearer_and_no_token_ever_changes() -> None:
    secrets = {kind.key: kind.build(cluster(), "ab" * 32).manifest for kind in (TOKEN, BEARER)}
    assert [secrets[key]["immutable"] for key in ("token", "bearer")] == [True, False]
    names = {secret["metadata"]["name"] for secret in secrets.values()}
    assert names == {"ads-token", "ads-bearer"}


def test_with_tls_only_older_nodes_are_scraped_without() -> None:
    found = manifest("PodMonitor", "ads-nodes", security={"tls": {"secretName": "mine"}})
    plain, secure = found["spec"]["podMetricsEndpoints"]
    assert (plain["port"], secure["port"], secure["scheme"]) == ("http", "https", "https")
    assert secure["tlsConfig"] == {
        "ca": {"secret": {"name": "mine", "key": "ca.crt"}},
        "serverName": "ads.default.svc",
    }


def test_drift_is_detected_and_fields_of_others_are_ignored() -> None:
    wanted = {"spec": {"replicas": 3, "ports": [{"port": 1}]}, "cpu": "1000m"}
    assert contains({"spec": {"replicas": 3, "ports": [{"port": 1, "x": 2}]}, "cpu": "1"}, wanted)
    assert not contains({"spec": {"replicas": 4, "ports": [{"port": 1}]}, "cpu": "1"}, wanted)
    assert not contains({"spec": {"replicas": 3, "ports": []}, "cpu": "1"}, wanted)
    assert contains({}, {"replicas": 0, "paused": False, "labels": {}})
    assert not contains({}, {"replicas": 1})


def test_the_hash_detects_a_field_that_is_no_longer_wanted() -> None:
    before = desired_children(cluster({"nodeSelector": {"a": "b"}}), "node:1").stateful_sets[0]
    after = desired_children(cluster(), "node:1").stateful_sets[0]
    assert not up_to_date(after, before.manifest)
