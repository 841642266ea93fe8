"""The start of pods, out of an audit log."""

import pytest

from scale_tests.cluster.kwok import startup
from scale_tests.cluster.kwok.audit import Request
from scale_tests.cluster.kwok.machines import USER as KWOK


def request(at: float, user: str, verb: str, resource: str, name: str, code: int = 200) -> Request:
    return Request(
        at=at,
        user=user,
        verb=verb,
        resource=resource,
        namespace="n",
        name=name,
        code=code,
        selector="",
    )


def start(index: int, made: float, runs: float) -> list[Request]:
    pod = f"a-{index}"
    return [
        request(made, startup.CREATOR, "create", "pods", pod),
        request(made, startup.CREATOR, "create", "events", ""),
        request(runs, KWOK, "patch", "pods/status", pod),
    ]


def test_a_pod_starts_when_it_is_first_reported_as_running() -> None:
    found = [entry for n in range(100) for entry in start(n, n, n + (0.5 if n < 98 else 4.0))]
    found.append(request(200.0, KWOK, "patch", "pods/status", "a-1"))
    measured = startup.measure(found)
    assert (measured.pods, measured.p50_seconds, measured.p99_seconds) == (100, 0.5, 4.0)
    assert measured.creator_requests == 200
    assert measured.allowed_seconds == pytest.approx((200 - 30) / 20)


def test_refused_and_later_requests_are_left_out() -> None:
    found = [
        *start(0, 1.0, 2.0),
        request(1.0, startup.CREATOR, "create", "pods", "a-1", code=403),
        request(9.0, startup.CREATOR, "update", "statefulsets/status", "a"),
    ]
    measured = startup.measure(found)
    # The refused one has cost a token of the rate limit all the same.
    assert (measured.pods, measured.creator_requests) == (1, 3)
    assert startup.measure([]).p99_seconds is None
