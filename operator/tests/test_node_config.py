"""The configuration that nodes read, and which of its changes restart them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.children import Child, desired_children
from partisan_operator.children.node_config import render_config, restart_hash, revision, run_id
from partisan_operator.children.overlay import edges
from partisan_operator.models import PartisanCluster
from partisan_operator.models.overlay import Pattern, Static
from partisan_operator.models.workload import Workload
from partisan_operator.observe.graph import analyse
from strategies import overlays, specs
from world import cluster

COUNTER = {"adCounter": {"impressions": 640, "incrementInterval": "1s"}}


def sets(wanted: PartisanCluster) -> tuple[Child, ...]:
    return desired_children(wanted, "node:1").stateful_sets


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


def test_development_is_in_the_node_config_only_where_it_is_on() -> None:
    off, on = cluster({}), cluster({"development": True})
    assert "development" not in render_config(off)
    assert "\n  development => true" in render_config(on)
    assert restart_hash(on) != restart_hash(off) == restart_hash(cluster({"development": False}))


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
def test_channel_limits_and_guarantees_in_the_node_config(
    channel: dict[str, Any], text: str
) -> None:
    """The nodes' defaults are left out: a newer operator replaces no pods."""
    wanted = cluster({"channels": [{"name": "default"} | channel]})
    beginning = "channels => [#{name => default,parallelism => 1,monotonic => false"
    assert f"{beginning}{text}}}],\n" in render_config(wanted)
    plain = cluster({"channels": [{"name": "default"}]})
    assert (restart_hash(wanted) == restart_hash(plain)) == (not text)
    assert revision(wanted) == revision(plain)


def test_the_heartbeat_interval_in_the_node_config() -> None:
    """The default interval is left out in every notation."""
    plain, same = cluster({}), cluster({"heartbeatInterval": "5000ms"})
    assert render_config(same) == render_config(plain)
    calm = cluster({"heartbeatInterval": "20s"})
    assert "heartbeat_interval => 20000,\n" in render_config(calm)
    assert restart_hash(calm) != restart_hash(plain)


@pytest.mark.parametrize(
    ("mode", "atom"),
    [("State", "state"), ("Delta", "delta"), ("Tree", "tree"), ("Aggregate", "aggregate")],
)
def test_synchronization_in_the_node_config(mode: str, atom: str) -> None:
    config = render_config(cluster({"workload": COUNTER | {"synchronization": mode}}))
    assert f",synchronization => {atom}}}}},\n" in config


def test_a_custom_workload_in_the_node_config() -> None:
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
            {"kind": "PublishSubscribe"},
            '{publish_subscribe,#{brokers => [<<"ads-0">>,<<"ads-1">>],replication => 2}}',
        ),
        (
            {"kind": "PublishSubscribe", "publishSubscribe": {"brokers": 1, "replication": 1}},
            '{publish_subscribe,#{brokers => [<<"ads-0">>],replication => 1}}',
        ),
        (
            {
                "kind": "Custom",
                "custom": {"module": "circle", "parameters": [{"name": "period", "value": 500}]},
            },
            "{circle,#{period => 500}}",
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


@given(specs(), overlays, st.integers(1, 1024), st.integers(1, 8), st.integers(1, 128))
def test_a_change_that_running_nodes_follow_restarts_no_pod(
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


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 4},
        {"channels": [{"name": "default", "parallelism": 2}]},
        {"overlay": {"kind": "Cyclon"}},
        {"overlay": {"kind": "HyParView", "hyParView": {"activeMax": 7}}},
    ],
)
def test_a_change_that_running_nodes_follow_is_another_revision(change: dict[str, Any]) -> None:
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
def test_changes_read_only_at_the_start_restart_the_nodes(change: dict[str, Any]) -> None:
    before = {"workload": COUNTER, "channels": [{"name": "default"}]}
    assert restart_hash(cluster(before)) != restart_hash(cluster(before | change))


def test_fields_that_do_not_concern_nodes_change_nothing() -> None:
    """A pause or a slower rollout must not be sent to a thousand nodes."""
    change = {"paused": True, "rollout": {"maxUnavailable": 1}, "image": "node:2"}
    assert render_config(cluster()) == render_config(cluster(change))


def test_another_server_name_restarts_the_nodes() -> None:
    secret = {"secretName": "ads-tls"}
    named = cluster({"security": {"tls": {**secret, "serverName": "partisan.example.org"}}})
    assert 'server_name => <<"partisan.example.org">>' in render_config(named)
    assert restart_hash(named) != restart_hash(cluster({"security": {"tls": secret}}))


@pytest.mark.parametrize("member", [{"adCounter": {"impressions": 9}}, {"custom": {"module": "m"}}])
def test_omitting_a_default_of_an_older_crd_starts_no_run(
    member: dict[str, Any],
) -> None:
    stored = Workload.model_validate({**member, "synchronization": "Delta"})
    assert run_id(Workload.model_validate(member)) == run_id(stored)
