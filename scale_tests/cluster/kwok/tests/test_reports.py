"""The answers of simulated pods."""

import json

from scale_tests.cluster import views
from scale_tests.cluster.kwok import reports
from scale_tests.cluster.kwok.reports import Pod
from scale_tests.cluster.nodes import node_status


def pod(ordinal: int = 0) -> Pod:
    return Pod(cluster="ads", ordinal=ordinal, started=100.0, revision="r1")


def ask(who: Pod | None, text: str) -> bytes | None:
    return reports.answer(who, text.encode(), lambda: 160.0)


def test_a_report_is_one_that_the_harness_reads_as_a_nodes() -> None:
    answer = ask(pod(3), "GET /status HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer is not None
    head, _, body = answer.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}" in head.decode()
    found = node_status(json.loads(body))
    assert (found.name, found.joined) == ("ads-3", True)
    assert found.active == ("ads-1", "ads-2", "ads-4", "ads-7", "ads-8")
    assert dict(found.channels)["gossip"].sent_messages == 240


def test_names_are_those_of_shards() -> None:
    assert pod(249).name == "ads-249"
    assert pod(250).name == "ads-s1-250"


def test_the_overlay_is_one_component_at_any_size() -> None:
    for size in (1, 2, 7, 300):
        found = [json.loads(reports.status(pod(n), 100.0)) for n in range(size)]
        active = {node["node"]: frozenset(node["overlay"]["active"]) for node in found}
        assert len(views.components(active)) == 1


def test_a_request_is_waited_for_to_its_end() -> None:
    head = "POST /configuration HTTP/1.1\r\nContent-Length: 22\r\n\r\n"
    who = pod()
    assert ask(who, "GET /status HTTP/1.1\r\n") is None
    assert ask(who, head + '#{revision => <<"') is None
    assert who.revision == "r1"
    assert ask(who, head + '#{revision => <<"r2">>') is not None
    assert who.revision == "r2"


def test_other_requests_and_missing_pods_are_errors() -> None:
    assert b" 404 " in (ask(pod(), "GET /metrics HTTP/1.1\r\n\r\n") or b"")
    assert b" 503 " in (ask(None, "GET /status HTTP/1.1\r\n\r\n") or b"")
    assert reports.revision_in("#{}.") == ""
