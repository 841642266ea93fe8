"""The children, read as manifests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partisan_operator.children import Child, family_of, naming, token_secret
from partisan_operator.children.child import contains, up_to_date
from partisan_operator.children.node_config import render_config, restart_hash, revision, run_id
from partisan_operator.children.overlay import edges
from partisan_operator.models import PartisanCluster
from partisan_operator.models.overlay import Pattern, Static
from partisan_operator.models.pods import OWN_LABELS, OWN_PREFIX, OWN_VARIABLES
from partisan_operator.observe.graph import analyse
from strategies import overlays, specs
from world import cluster

COUNTER = {"adCounter": {"impressions": 640, "incrementInterval": "1s"}}


def manifest(kind: str, name: str = "ads", **spec: Any) -> dict[str, Any]:
    child = family_of(cluster(spec), "node:1").find(kind, name)
    assert child is not None
    return child.manifest


def pod(**spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = manifest("StatefulSet", **spec)["spec"]["template"]
    return found


def container(**spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = pod(**spec)["spec"]["containers"][0]
    return found


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
    family = family_of(cluster(spec), "node:1")
    for child in family.everyone:
        metadata = child.manifest["metadata"]
        assert metadata["ownerReferences"][0]["uid"] == "cluster-uid"
        assert metadata["ownerReferences"][0]["controller"]
        assert metadata["labels"]["partisan.dev/cluster"] == "ads"
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "partisan-operator"


@given(specs())
def test_a_child_just_applied_is_up_to_date(spec: dict[str, Any]) -> None:
    family = family_of(cluster(spec), "node:1")
    assert all(up_to_date(child, child.manifest) for child in family.foundations)
    assert all(up_to_date(child, child.manifest) for child in family.stateful_sets)


def test_the_pod_has_no_privileges_and_no_access_to_the_api_server() -> None:
    spec = pod()["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_pod_reads_its_configuration_and_writes_to_memory_only() -> None:
    mounts = {mount["mountPath"]: mount for mount in container()["volumeMounts"]}
    assert mounts["/etc/partisan/config"]["readOnly"]
    assert mounts["/etc/partisan/secret"]["readOnly"]
    volumes = {volume["name"]: volume for volume in pod()["spec"]["volumes"]}
    assert volumes[mounts["/var/lib/partisan"]["name"]]["emptyDir"]["medium"] == "Memory"
    assert {entry["name"] for entry in container()["env"]} == {
        "POD_NAME",
        "POD_NAMESPACE",
        "POD_IP",
        "K8S_NODE_NAME",
        "K8S_ZONE",
        "ERL_FLAGS",
    }


@pytest.mark.parametrize(
    ("resources", "flags"),
    [
        ({}, "+S 1:1"),
        ({"requests": {"memory": "48Mi"}}, "+S 1:1"),
        ({"requests": {"cpu": "2500m"}}, "+S 3:3"),
        ({"limits": {"memory": "1Gi"}}, "+S 1:1"),
        ({"limits": {"cpu": 4}}, None),
    ],
)
def test_schedulers_follow_the_cpus_asked_for(resources: dict[str, Any], flags: str) -> None:
    values = {entry["name"]: entry.get("value") for entry in container(resources=resources)["env"]}
    assert values.get("ERL_FLAGS") == flags


def test_without_tls_nothing_of_it_is_there() -> None:
    assert "/etc/partisan/tls" not in {m["mountPath"] for m in container()["volumeMounts"]}
    assert "tls" not in {volume["name"] for volume in pod()["spec"]["volumes"]}
    assert "tls" not in render_config(cluster({}))


def test_with_tls_nodes_read_the_users_secret() -> None:
    security = {"tls": {"secretName": "ads-tls"}}
    mounts = {mount["name"]: mount for mount in container(security=security)["volumeMounts"]}
    assert mounts["tls"] == {"name": "tls", "mountPath": "/etc/partisan/tls", "readOnly": True}
    volumes = {volume["name"]: volume for volume in pod(security=security)["spec"]["volumes"]}
    assert volumes["tls"]["secret"]["secretName"] == "ads-tls"
    # Kubernetes waits for all of them.
    items = [item["key"] for item in volumes["tls"]["secret"]["items"]]
    assert items == ["tls.crt", "tls.key", "ca.crt"]
    text = render_config(cluster({"security": security}))
    assert 'cacertfile => <<"/etc/partisan/tls/ca.crt">>' in text
    assert 'server_name => <<"ads.default.svc">>' in text


def test_certificates_may_bear_another_name_which_restarts_the_nodes() -> None:
    secret = {"secretName": "ads-tls"}
    named = cluster({"security": {"tls": {**secret, "serverName": "partisan.example.org"}}})
    assert 'server_name => <<"partisan.example.org">>' in render_config(named)
    assert restart_hash(named) != restart_hash(cluster({"security": {"tls": secret}}))


def test_pods_start_at_once_and_are_replaced_by_the_operator_only() -> None:
    spec = manifest("StatefulSet", "ads-s1", replicas=300)["spec"]
    assert spec["podManagementPolicy"] == "Parallel"
    assert spec["updateStrategy"] == {"type": "OnDelete"}
    assert spec["ordinals"] == {"start": 250}
    assert spec["serviceName"] == "ads-s1"
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


def test_the_image_of_the_operator_is_the_default() -> None:
    assert container()["image"] == "node:1"
    assert container(image="mine:2")["image"] == "mine:2"


def test_resources_have_small_defaults_that_can_be_replaced() -> None:
    assert container()["resources"] == {"requests": {"cpu": "10m", "memory": "48Mi"}}
    own = {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}}
    expected = {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}
    assert container(resources=own)["resources"] == expected
    assert container(resources={"requests": {}})["resources"] == {}


def test_pods_spread_by_default_and_only_by_default() -> None:
    keys = [entry["topologyKey"] for entry in pod()["spec"]["topologySpreadConstraints"]]
    assert keys == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    assert "topologySpreadConstraints" not in pod(topologySpreadConstraints=[])["spec"]


def test_scheduling_is_passed_on_and_left_out_when_empty() -> None:
    fields = {"nodeSelector", "tolerations", "affinity", "priorityClassName", "imagePullSecrets"}
    assert not fields & pod()["spec"].keys()
    given_fields = {
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"x": 1}},
        "priorityClassName": "high",
        "imagePullSecrets": [{"name": "registry"}],
    }
    spec = pod(**given_fields)["spec"]
    assert {name: spec[name] for name in fields} == given_fields


def test_what_the_pods_carry_besides_is_passed_on() -> None:
    secret = {"secretKeyRef": {"name": "ads-extra", "key": "password"}}
    own: dict[str, Any] = {
        "labels": {"team": "overlay"},
        "annotations": {"example.org/owner": "me"},
        "env": [{"name": "COLOUR", "value": "blue"}, {"name": "PASSWORD", "valueFrom": secret}],
        "envFrom": [{"secretRef": {"name": "more"}, "prefix": "MORE_"}],
    }
    metadata = pod(pods=own)["metadata"]
    for kind in ("labels", "annotations"):
        assert metadata[kind].items() > own[kind].items()
    assert container(pods=own)["env"] == container()["env"] + own["env"]
    assert container(pods=own)["envFrom"] == own["envFrom"]
    assert "envFrom" not in container()


def test_what_the_operator_sets_is_refused_of_users() -> None:
    """The rules of the definition name it all, so that nothing of theirs is overwritten."""
    names = {entry["name"] for entry in container()["env"]}
    assert names == set(OWN_VARIABLES)
    keys = {*pod()["metadata"]["labels"], *pod()["metadata"]["annotations"]}
    assert {key for key in keys if not key.startswith(OWN_PREFIX)} == set(OWN_LABELS)


def test_a_pod_monitor_scrapes_the_nodes_of_one_cluster_as_often_as_it_is_told() -> None:
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
    off = family_of(cluster({"networkPolicy": {"enabled": False}}), "node:1")
    assert off.find("NetworkPolicy", "ads") is None


def test_a_drain_takes_no_more_nodes_than_a_rollout() -> None:
    spec = manifest("PodDisruptionBudget", rollout={"maxUnavailable": "25%"})["spec"]
    assert spec["maxUnavailable"] == "25%"


def test_a_token_survives_the_secret_and_junk_does_not_pass() -> None:
    secret = token_secret.build(cluster(), "ab" * 32).manifest
    assert token_secret.token_in(secret) == "ab" * 32
    for data in ({}, {"token": ""}, {"token": "!"}, {"token": "YWJj"}, {"token": "/////w=="}):
        assert token_secret.token_in({"data": data}) is None
    assert token_secret.token_in({}) is None


def test_node_config() -> None:
    spec = {"replicas": 32, "workload": COUNTER, "channels": [{"name": "default"}]}
    text = render_config(cluster(spec))
    assert text == (
        '#{cluster => <<"ads">>,\n'
        '  namespace => <<"default">>,\n'
        "  replicas => 32,\n"
        '  seeds => [{<<"ads-0">>,<<"ads-0.ads">>,7946},{<<"ads-11">>,<<"ads-11.ads">>,7946},'
        '{<<"ads-21">>,<<"ads-21.ads">>,7946}],\n'
        "  listen_port => 7946,\n"
        "  http_port => 8080,\n"
        "  overlay => {hyparview,#{active_max => 6,active_min => 3,passive_max => 30,"
        "active_random_walk_length => 6,passive_random_walk_length => 3,"
        "shuffle_interval => 10000,promotion_interval => 5000}},\n"
        "  channels => [#{name => default,parallelism => 1,monotonic => false}],\n"
        "  workload => {adcounter,#{ads => 1,impressions => 640,increment_interval => 1000,"
        "propagation_interval => 5000,synchronization => delta}},\n"
        f'  run => <<"{run_id(cluster(spec).spec.workload)}">>,\n'
        f'  revision => <<"{revision(cluster(spec))}">>}}.\n'
    )


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ({}, ""),
        ({"queueLimit": "8192Ki"}, ""),
        ({"queueLimit": "512Ki"}, ",queue_bytes => 524288"),
        ({"queueLimit": 65536}, ",queue_bytes => 65536"),
        ({"acknowledged": True}, ",acknowledged => true"),
    ],
)
def test_what_a_channel_holds_and_promises_in_the_node_config(
    channel: dict[str, Any], text: str
) -> None:
    """What nodes take by themselves is left out: an operator that knows more replaces no pods."""
    wanted = cluster({"channels": [{"name": "default"} | channel]})
    beginning = "channels => [#{name => default,parallelism => 1,monotonic => false"
    assert f"{beginning}{text}}}],\n" in render_config(wanted)
    plain = cluster({"channels": [{"name": "default"}]})
    assert (restart_hash(wanted) == restart_hash(plain)) == (not text)
    assert revision(wanted) == revision(plain)


@pytest.mark.parametrize(
    ("mode", "atom"),
    [("State", "state"), ("Delta", "delta"), ("Tree", "tree"), ("Aggregate", "aggregate")],
)
def test_synchronization_in_the_node_config(mode: str, atom: str) -> None:
    config = render_config(cluster({"workload": COUNTER | {"synchronization": mode}}))
    assert f",synchronization => {atom}}}}},\n" in config


def test_a_workload_of_ones_own_in_the_node_config() -> None:
    arguments = [{"name": "interval", "value": 250}, {"name": "words", "value": 'the "king"'}]
    workload = {"custom": {"module": "rumours", "arguments": arguments}}
    config = render_config(cluster({"workload": workload}))
    assert (
        'workload => {rumours,#{interval => 250,words => <<"the \\x{22}king\\x{22}">>}},' in config
    )
    assert 'run => <<"">>' not in config


@pytest.mark.parametrize(
    ("overlay", "text"),
    [
        ({"kind": "FullMesh"}, "{full_mesh,#{}}"),
        (
            {"kind": "ClientServer", "clientServer": {"servers": 2}},
            '{client_server,#{servers => [<<"ads-0">>,<<"ads-1">>]}}',
        ),
        (
            {"kind": "XBot", "xBot": {"activeMax": 5, "scan": 3, "optimisationInterval": "2s"}},
            "{xbot,#{active_max => 5,active_min => 3,passive_max => 30,"
            "active_random_walk_length => 6,passive_random_walk_length => 3,"
            "shuffle_interval => 10000,promotion_interval => 5000,"
            "optimisation_interval => 2000,scan => 3,unbiased => 1}}",
        ),
        ({"kind": "ScampV1"}, "{scamp_v1,#{redundancy => 4,heartbeat_interval => 5000}}"),
        (
            {"kind": "ScampV2", "scampV2": {"lease": "1m", "heartbeatInterval": "7s"}},
            "{scamp_v2,#{redundancy => 4,heartbeat_interval => 7000,lease => 8,indirection => 8}}",
        ),
        (
            {"kind": "HiScamp"},
            "{hiscamp,#{redundancy => 3,heartbeat_interval => 5000,lease => 120,indirection => 4,"
            "representatives => 2}}",
        ),
        (
            {"kind": "Cyclon", "cyclon": {"viewSize": 10}},
            "{cyclon,#{view_size => 10,shuffle_size => 8,shuffle_interval => 10000,"
            "walk_length => 5}}",
        ),
        (
            {"kind": "Static", "static": {"edges": [[2, 0], [0, 1]]}},
            "{static,#{edges => [{2,0},{0,1}]}}",
        ),
        (
            {"kind": "Static", "static": {"pattern": "Ring"}},
            "{static,#{edges => [{0,1},{1,2},{2,0}]}}",
        ),
        (
            {"kind": "Static", "static": {"pattern": "Tree"}},
            "{static,#{edges => [{0,1},{0,2}]}}",
        ),
    ],
)
def test_overlays_in_the_node_config(overlay: dict[str, Any], text: str) -> None:
    config = render_config(cluster({"overlay": overlay}))
    assert f"  overlay => {text},\n" in config
    assert "workload => none" in config
    assert 'run => <<"">>' in config


@given(st.sampled_from(Pattern), st.integers(1, 200))
def test_a_pattern_connects_every_ordinal_and_links_none_twice(
    pattern: Pattern, replicas: int
) -> None:
    links = edges(Static(pattern=pattern), replicas)
    assert len({frozenset(link) for link in links}) == len(links)
    views: dict[str, list[str]] = {str(ordinal): [] for ordinal in range(replicas)}
    for first, second in links:
        views[str(first)].append(str(second))
    assert analyse(views).components == 1


@settings(deadline=None)
@given(specs(), overlays, st.integers(1, 1024), st.integers(1, 8), st.integers(1, 128))
def test_what_running_nodes_follow_restarts_no_pod(
    spec: dict[str, Any], overlay: dict[str, Any], replicas: int, seeds: int, parallelism: int
) -> None:
    changed = spec | {
        "replicas": replicas,
        "discovery": {"seeds": seeds},
        "overlay": overlay,
        "channels": [channel | {"parallelism": parallelism} for channel in spec["channels"]],
    }
    assert restart_hash(cluster(spec)) == restart_hash(cluster(changed))
    template = [child.manifest["spec"]["template"] for child in sets(cluster(spec))]
    assert template[0] == sets(cluster(changed))[0].manifest["spec"]["template"]


def sets(wanted: PartisanCluster) -> tuple[Child, ...]:
    return family_of(wanted, "node:1").stateful_sets


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 4},
        {"channels": [{"name": "default", "parallelism": 2}]},
        {"overlay": {"kind": "Cyclon"}},
        {"overlay": {"kind": "HyParView", "hyParView": {"activeMax": 7}}},
    ],
)
def test_what_running_nodes_follow_is_another_revision(change: dict[str, Any]) -> None:
    before = {"channels": [{"name": "default"}]}
    assert revision(cluster(before)) != revision(cluster(before | change))


@pytest.mark.parametrize(
    "change",
    [
        {"workload": {"adCounter": {"impressions": 641}}},
        {"workload": {"custom": {"module": "rumours"}}},
        {"workload": COUNTER | {"synchronization": "Tree"}},
        {"channels": [{"name": "default"}, {"name": "more"}]},
        {"channels": [{"name": "default", "monotonic": True}]},
    ],
)
def test_what_only_a_start_takes_restarts_the_nodes(change: dict[str, Any]) -> None:
    before = {"workload": COUNTER, "channels": [{"name": "default"}]}
    assert restart_hash(cluster(before)) != restart_hash(cluster(before | change))


def test_what_no_node_has_to_follow_changes_nothing() -> None:
    """A pause or a slower rollout must not be told to a thousand nodes."""
    change = {"paused": True, "rollout": {"maxUnavailable": 1}, "image": "node:2"}
    assert render_config(cluster()) == render_config(cluster(change))


def test_drift_is_seen_and_the_fields_of_others_are_not() -> None:
    wanted = {"spec": {"replicas": 3, "ports": [{"port": 1}]}, "cpu": "1000m"}
    assert contains({"spec": {"replicas": 3, "ports": [{"port": 1, "x": 2}]}, "cpu": "1"}, wanted)
    assert not contains({"spec": {"replicas": 4, "ports": [{"port": 1}]}, "cpu": "1"}, wanted)
    assert not contains({"spec": {"replicas": 3, "ports": []}, "cpu": "1"}, wanted)
    assert contains({}, {"replicas": 0, "paused": False, "labels": {}})
    assert not contains({}, {"replicas": 1})


def test_a_field_that_is_no_longer_wanted_is_seen_by_the_hash() -> None:
    before = family_of(cluster({"nodeSelector": {"a": "b"}}), "node:1").stateful_sets[0]
    after = family_of(cluster(), "node:1").stateful_sets[0]
    assert not up_to_date(after, before.manifest)
