"""Requests read from an audit log."""

import json
from datetime import UTC, datetime
from typing import Any

from scale_tests.cluster.kwok import audit
from scale_tests.cluster.kwok.audit import Request

OPERATOR = "system:serviceaccount:partisan-system:partisan-operator"
START = 1_790_000_000.0


def line(verb: str, uri: str, *, stage: str = "ResponseComplete", **target: str) -> str:
    entry: dict[str, Any] = {
        "stage": stage,
        "verb": verb,
        "requestURI": uri,
        "user": {"username": OPERATOR},
        "objectRef": target,
        "responseStatus": {"code": 200},
        "stageTimestamp": datetime.fromtimestamp(START, UTC).isoformat().replace("+00:00", "Z"),
    }
    return json.dumps(entry) + "\n"


def listed(at: float, *, resource: str = "services", selector: str = "cluster=a") -> Request:
    return Request(
        at=at,
        user=OPERATOR,
        verb="list",
        resource=resource,
        namespace="n",
        name="",
        code=200,
        selector=selector,
    )


def test_a_request_is_reported_with_its_subject() -> None:
    uri = "/apis/apps/v1/namespaces/n/statefulsets?labelSelector=partisan.dev%2Fcluster%3Da"
    (found,) = audit.requests([line("list", uri, resource="statefulsets", namespace="n")])
    assert (found.at, found.user, found.verb) == (START, OPERATOR, "list")
    assert (found.resource, found.selector) == ("statefulsets", "partisan.dev/cluster=a")
    assert not found.writes


def test_a_subresource_is_part_of_the_resource() -> None:
    target = {"resource": "partisanclusters", "subresource": "status", "name": "a"}
    (found,) = audit.requests([line("patch", "/x", **target)])
    assert (found.resource, found.name, found.writes) == ("partisanclusters/status", "a", True)


def test_a_watch_counts_when_it_begins_and_all_else_when_it_ends() -> None:
    log = [
        line("watch", "/x?watch=true", stage="ResponseStarted", resource="pods"),
        line("watch", "/x?watch=true", resource="pods"),
        line("get", "/x", stage="ResponseStarted", resource="pods"),
        line("get", "/x", resource="pods"),
    ]
    assert [entry.verb for entry in audit.requests(log)] == ["watch", "get"]


def test_a_line_that_is_being_written_is_left_out() -> None:
    whole = line("get", "/x", resource="pods")
    assert len(list(audit.requests([whole, whole[:40]]))) == 1


def test_leader_election_and_other_users_are_left_out() -> None:
    log = [line("update", "/x", resource="leases"), line("get", "/x", resource="pods")]
    found = list(audit.requests(log))
    assert [entry.resource for entry in audit.of_clusters(found, OPERATOR)] == ["pods"]
    assert audit.of_clusters(found, "unknown") == []


def test_between_takes_the_start_and_leaves_the_end() -> None:
    found = [listed(0.0), listed(1.0), listed(2.0)]
    assert [entry.at for entry in audit.between(found, 0.0, 2.0)] == [0.0, 1.0]


def test_lists_are_counted_by_kind_and_cluster_in_the_fullest_interval() -> None:
    found = [
        *(listed(at) for at in (0.0, 60.0, 61.0, 119.0, 130.0)),
        *(listed(at, selector="cluster=b") for at in (0.0, 60.0)),
        listed(5.0, resource="endpointslices"),
    ]
    assert audit.most_lists(found, 60.0) == {"services": 3, "endpointslices": 1}
    assert audit.most_lists([listed(0.0), listed(60.0)], 60.0) == {"services": 1}
    assert audit.most_lists([], 60.0) == {}
