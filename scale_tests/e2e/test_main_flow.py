"""The main flow: 32 nodes join, count, converge; are inspected, scaled, and deleted."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scale_tests.cluster import operator
from scale_tests.cluster.nodes import NodeStatus, components
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.host.commands import ROOT

NODES = 32


@pytest.fixture(scope="module")
def ads(new_subject: NewSubject) -> Subject:
    """examples/cluster.yaml, applied and followed to the end of its run."""
    subject = new_subject("ads")
    subject.kubectl("apply", "-f", str(ROOT / "examples" / "cluster.yaml"))
    subject.wait_finished()
    subject.wait_healthy(NODES)
    return subject


@pytest.fixture(scope="module")
def nodes(ads: Subject) -> list[NodeStatus]:
    """The reports of all nodes after the run."""
    return wait_for("all nodes answer", ads.nodes, lambda found: len(found) == NODES)


def test_all_nodes_are_ready_and_joined_in_one_overlay(
    ads: Subject, nodes: list[NodeStatus]
) -> None:
    status = ads.wait_healthy(NODES)
    assert (status.replicas, status.ready, status.joined) == (NODES, NODES, NODES)
    assert (status.components, status.isolated) == (1, 0)
    assert all(node.joined for node in nodes)
    assert components(nodes) == 1


def test_every_condition_is_healthy(ads: Subject) -> None:
    healthy = {
        **dict.fromkeys(("Ready", "OverlayConnected", "WorkloadConverged"), "True"),
        **dict.fromkeys(("Progressing", "Degraded"), "False"),
    }
    ads.wait(
        "every condition healthy",
        lambda s: healthy.items() <= {c.type: c.status for c in s.conditions}.items(),
    )


def test_every_increment_counts_once_on_every_replica(
    ads: Subject, nodes: list[NodeStatus]
) -> None:
    run = ads.status().workload
    made = sum(node.increments for node in nodes)
    assert {node.value for node in nodes} == {run.value} == {made} == {run.increments_sum}
    assert len({node.digest for node in nodes}) == 1
    assert run.value >= run.threshold == 1920
    assert (run.lost_increments, run.replaced_nodes) == (0, 0)
    overshoot = (run.value - run.threshold) * 100 / run.threshold
    assert run.overcounting_percent == pytest.approx(overshoot, abs=0.01)


def test_a_console_attaches_to_a_node(ads: Subject) -> None:
    program = "/opt/partisan/bin/partisan_node"
    shown = operator.kubectl(
        ads.environment,
        *("-n", ads.namespace, "exec", "--stdin", "ads-0", "--", program, "remote_console"),
        stdin="{node(), length(partisan:neighbours()) > 0}.\n",
    )
    assert "{nonode@nohost,true}" in shown


def test_ads_are_disabled_everywhere(ads: Subject) -> None:
    assert {ads.node_json(pod)["workload"]["ads_enabled"] for pod in ads.pods()} == {0}


def test_metrics_are_scraped_for_every_channel(ads: Subject, nodes: list[NodeStatus]) -> None:
    families = {f.name: f for f in text_string_to_metric_families(ads.metrics(nodes[0].name))}
    for name in ("partisan_channel_messages", "partisan_channel_bytes"):
        channels = {sample.labels["channel"] for sample in families[name].samples}
        assert channels >= {"default", "gossip", "overlay"}
    sent = {
        sample.labels["channel"]: sample.value
        for sample in families["partisan_channel_bytes"].samples
        if sample.labels["direction"] == "sent"
    }
    assert sent["gossip"] > 0
    reported = {channel.name: channel for channel in ads.status().channels}
    assert reported.keys() >= {"default", "gossip", "overlay"}
    assert reported["gossip"].bytes > 0


def test_no_metric_carries_the_name_of_a_peer(ads: Subject, nodes: list[NodeStatus]) -> None:
    text = ads.metrics(nodes[0].name)
    assert not [node.name for node in nodes if f'"{node.name}"' in text]


def test_the_printer_columns_summarize_the_state(ads: Subject) -> None:
    columns = "NAME OVERLAY NODES READY JOINED PHASE CONVERGED AGE"
    wanted = ["ads", "HyParView", "32", "32", "32", "Converged", "True"]
    header, _row = wait_for(
        "the columns",
        lambda: ads.kubectl("get", "pcl").splitlines(),
        lambda lines: lines[1].split()[:7] == wanted,
        progress=lambda lines: tuple(lines[1].split()[:7]),
    )
    assert header.split() == columns.split()


def test_describe_shows_the_conditions_and_the_events(ads: Subject) -> None:
    ads.wait_events("OverlayFormed", "RunConverged")
    text = ads.kubectl("describe", "pcl/ads")
    for words in ("OverlayConnected", "WorkloadConverged", "OverlayFormed", "RunConverged"):
        assert words in text


def test_scaling_up_adds_nodes_and_touches_no_other(ads: Subject) -> None:
    before, restarts = ads.uids(), ads.restarts()
    ads.kubectl("scale", "pcl/ads", "--replicas=40")
    status = ads.wait("40 nodes joined", lambda s: s.steady and s.joined == 40)
    after = ads.uids()
    assert status.components == 1
    assert len(after) == 40
    assert {name: after[name] for name in before} == before
    assert {name: ads.restarts()[name] for name in restarts} == restarts


def test_new_nodes_learn_the_counter(ads: Subject) -> None:
    value = ads.status().workload.value
    nodes = wait_for(
        "every node counts the same",
        ads.nodes,
        lambda nodes: len(nodes) == 40 and {node.value for node in nodes} == {value},
        progress=lambda nodes: tuple(sorted(node.value for node in nodes)),
    )
    assert len({node.digest for node in nodes}) == 1


def test_scaling_down_takes_the_highest_ordinals_and_keeps_one_overlay(ads: Subject) -> None:
    ads.kubectl("scale", "pcl/ads", "--replicas=30")
    status = ads.wait("30 nodes left", lambda s: s.steady and s.joined == 30)
    assert status.components == 1
    wait_for("the lower ordinals", lambda: set(ads.pods()), names_of(30).__eq__)
    ads.wait_healthy(30)


def names_of(nodes: int) -> set[str]:
    return {f"ads-{ordinal}" for ordinal in range(nodes)}


def test_deletion_leaves_nothing(ads: Subject) -> None:
    assert {child.partition("/")[0] for child in ads.children()} >= {"pods", "secrets"}
    ads.delete()
    assert ads.children() == []
