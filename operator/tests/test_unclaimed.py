"""Clusters in namespaces that the API server does not let the operator claim."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fake_api import FakeApi
from loop_rig import CLUSTER, EVENTS, MANIFEST
from partisan_operator.act.unclaimed import REPEATED_AFTER, UnclaimedNamespaces, lease_refused

ANSWER = "leases is forbidden: exceeded quota: few, requested: count/leases=1, limited: 0"


class Clock:
    """A clock that a test advances."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    api = FakeApi()
    await api.start()
    yield api
    await api.stop()


def events(api: FakeApi) -> list[dict[str, Any]]:
    return [item for path, item in api.objects.items() if path.startswith(EVENTS)]


def test_the_event_names_the_lease_the_answer_and_the_remedy() -> None:
    found = lease_refused("default", ANSWER)
    assert (found.type, found.reason) == ("Warning", "LeaseRefused")
    for part in ("Lease default/partisan-operator", ANSWER, "count/leases", "every 10 s"):
        assert part in found.message


async def test_an_event_is_written_once_and_repeated_before_it_expires(api: FakeApi) -> None:
    api.put(CLUSTER, MANIFEST)
    clock = Clock()
    unclaimed = UnclaimedNamespaces(api.kube, clock)
    for _ in range(3):
        await unclaimed.announce("default", ["ads"], ANSWER)
    (event,) = events(api)
    assert event["involvedObject"]["uid"] == api.objects[CLUSTER]["metadata"]["uid"]
    assert (event["count"], api.writes) == (1, 1)
    clock.now += REPEATED_AFTER
    await unclaimed.announce("default", ["ads"], "another answer")
    (event,) = events(api)
    assert event["count"] == 2
    assert "another answer" in event["message"]
    assert "status" not in api.objects[CLUSTER]


async def test_a_refused_event_is_due_again(api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    api.put(CLUSTER, MANIFEST)
    unclaimed = UnclaimedNamespaces(api.kube)
    api.refusals["/events"] = (403, "no events either")
    await unclaimed.announce("default", ["ads"], ANSWER)
    assert "default/ads: the Event was not written: no events either" in caplog.text
    del api.refusals["/events"]
    await unclaimed.announce("default", ["ads"], ANSWER)
    assert len(events(api)) == 1


async def test_a_cluster_that_is_gone_has_no_event_and_its_successor_one(api: FakeApi) -> None:
    unclaimed = UnclaimedNamespaces(api.kube)
    await unclaimed.announce("default", ["ads"], ANSWER)
    assert api.writes == 0
    api.put(CLUSTER, MANIFEST)
    await unclaimed.announce("default", ["ads"], ANSWER)
    unclaimed.forget("default", "ads")
    del api.objects[CLUSTER]
    api.put(CLUSTER, MANIFEST)
    await unclaimed.announce("default", ["ads"], ANSWER)
    assert len(events(api)) == 2
