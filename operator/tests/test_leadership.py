"""Two operators and one Lease at an API server in memory, with a clock that the tests set."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fake_api import FakeApi
from partisan_operator.api import metrics
from partisan_operator.api.errors import KubeError
from partisan_operator.api.fence import Fence
from partisan_operator.api.kube import Kube
from partisan_operator.leader.election import Candidate
from partisan_operator.leader.leadership import STUCK_AFTER, Leadership
from partisan_operator.leader.lease import NAME, Lease

PATH = f"/apis/coordination.k8s.io/v1/namespaces/op/leases/{NAME}"
CHILD = {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Operator:
    """An operator whose rounds a test triggers."""

    def __init__(self, api: FakeApi, name: str, clock: Clock) -> None:
        self.calls: list[str] = []
        self.fence = Fence(clock)
        self.kube = Kube(api.client, self.fence)
        self.leadership = Leadership(
            Lease(self.kube, "op"),
            Candidate(name),
            self.fence,
            gained=lambda: self.calls.append("gained"),
            lost=self._lost,
            refused=self._refused,
            clock=clock,
        )

    async def _lost(self) -> None:
        self.calls.append("lost")

    async def _refused(self, answer: str) -> None:
        self.calls.append(f"refused: {answer}")

    async def round(self) -> None:
        """Do what `run` does between two pauses."""
        with contextlib.suppress(KubeError):
            await self.leadership._round()
        await self.leadership._follow()

    async def write(self) -> None:
        await self.kube.apply(CHILD)


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    api = FakeApi()
    await api.start()
    yield api
    await api.stop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def pair(api: FakeApi, clock: Clock) -> tuple[Operator, Operator]:
    """Return the leader and the standby."""
    first, second = Operator(api, "first", clock), Operator(api, "second", clock)
    await first.round()
    await second.round()
    return first, second


def spec(api: FakeApi) -> dict[str, Any]:
    found: dict[str, Any] = api.objects[PATH]["spec"]
    return found


async def test_the_first_leads_and_the_second_stands_by(
    api: FakeApi, pair: tuple[Operator, Operator]
) -> None:
    first, second = pair
    assert (first.calls, second.calls) == (["gained"], [])
    assert spec(api)["holderIdentity"] == "first"
    assert spec(api)["leaseDurationSeconds"] == 15
    assert "leads" in first.leadership.state
    assert "stands by" in second.leadership.state
    assert first.leadership.obstacle == second.leadership.obstacle == ""
    await first.write()
    with pytest.raises(KubeError, match="does not hold the Lease"):
        await second.write()


async def test_a_disconnected_leader_stops_writing_before_another_begins(
    api: FakeApi, pair: tuple[Operator, Operator], clock: Clock
) -> None:
    first, second = pair
    clock.now += 10.0
    writes = api.writes
    with pytest.raises(KubeError, match="does not hold the Lease"):
        await first.write()
    await second.round()
    assert api.writes == writes
    clock.now += 5.0
    await second.round()
    assert second.calls == ["gained"]
    assert spec(api)["leaseTransitions"] == 1
    await first.round()
    assert first.calls == ["gained", "lost"]
    assert second.leadership.leading
    assert not first.leadership.leading


async def test_a_leader_without_api_server_stands_by_and_resumes(
    api: FakeApi, clock: Clock, pair: tuple[Operator, Operator]
) -> None:
    first, _ = pair
    api.failure = (503, "away")
    clock.now += 2.0
    await first.round()
    assert first.leadership.leading
    clock.now += 8.0
    await first.round()
    assert first.calls == ["gained", "lost"]
    clock.now += 5.0
    assert "nothing is known of Lease op/partisan-operator for 15 s" in first.leadership.obstacle
    api.failure = None
    await first.round()
    assert first.calls == ["gained", "lost", "gained"]
    assert first.leadership.obstacle == ""
    await first.write()


async def test_a_resigning_leader_ends_its_writes_and_is_followed_at_once(
    api: FakeApi, pair: tuple[Operator, Operator]
) -> None:
    first, second = pair
    written, go_on = asyncio.Event(), asyncio.Event()

    async def slow_write() -> None:
        async with first.kube.changing():
            written.set()
            await go_on.wait()

    under_way = asyncio.create_task(slow_write())
    await written.wait()
    resignation = asyncio.create_task(first.leadership.resign())
    await asyncio.sleep(0)
    assert spec(api)["holderIdentity"] == "first"
    with pytest.raises(KubeError):
        await first.write()
    go_on.set()
    await asyncio.gather(under_way, resignation)
    assert first.calls == ["gained", "lost"]
    assert spec(api)["holderIdentity"] == ""
    await second.round()
    assert second.calls == ["gained"]


async def test_a_write_that_does_not_end_in_time_is_aborted(
    clock: Clock, pair: tuple[Operator, Operator]
) -> None:
    first, _ = pair
    clock.now += 9.999
    with pytest.raises(KubeError, match="Lease expired"):
        async with first.kube.changing():
            await asyncio.Event().wait()


async def test_one_of_two_candidates_acquires_an_expired_lease(
    api: FakeApi, clock: Clock, pair: tuple[Operator, Operator]
) -> None:
    second, third = pair[1], Operator(api, "third", clock)
    await third.round()
    clock.now += 15.0
    await asyncio.gather(second.round(), third.round())
    assert sorted([second.calls, third.calls]) == [[], ["gained"]]


async def test_the_metric_reports_the_leader(api: FakeApi, clock: Clock) -> None:
    operator = Operator(api, "first", clock)
    labels = {"lease": f"op/{NAME}"}
    assert metrics.registry.get_sample_value("partisan_operator_leader", labels) == 0
    await operator.round()
    assert metrics.registry.get_sample_value("partisan_operator_leader", labels) == 1
    await operator.leadership.resign()
    assert metrics.registry.get_sample_value("partisan_operator_leader", labels) == 0


async def test_a_lease_that_may_not_be_made_is_reported_until_it_may(
    api: FakeApi, clock: Clock
) -> None:
    operator, refused = Operator(api, "first", clock), f"Lease op/{NAME} is refused: quota"
    labels = {"lease": f"op/{NAME}"}
    api.refusals["/leases"] = (403, "quota")
    for _ in range(2):
        await operator.round()
        clock.now += operator.leadership._candidate.pause(clock.now)
    assert operator.calls == ["refused: quota"] * 2
    assert operator.leadership.obstacle == refused
    assert metrics.registry.get_sample_value("partisan_operator_lease_refused", labels) == 1
    api.refusals.clear()
    await operator.round()
    assert operator.calls[2:] == ["gained"]
    assert (operator.leadership.refusal, operator.leadership.obstacle) == ("", "")
    assert metrics.registry.get_sample_value("partisan_operator_lease_refused", labels) == 0


async def test_a_leader_that_may_not_renew_reports_it_when_its_lease_has_expired(
    api: FakeApi, clock: Clock, pair: tuple[Operator, Operator]
) -> None:
    first, second = pair
    api.refusals[f"/{NAME}"] = (403, "policy")
    clock.now += 2.0
    await first.round()
    assert (first.calls, first.leadership.refusal) == (["gained"], "")
    clock.now += 13.0
    await first.round()
    await second.round()
    assert sorted(first.calls) == ["gained", "lost", "refused: policy"]
    assert second.calls == ["refused: policy"]
    api.refusals.clear()
    await second.round()
    await first.round()
    assert (first.leadership.refusal, second.leadership.refusal) == ("", "")
    assert (first.leadership.leading, second.leadership.leading) == (False, True)


async def test_two_that_meet_and_no_answer_are_no_refusal(api: FakeApi, clock: Clock) -> None:
    operator = Operator(api, "first", clock)
    for code in (404, 409):
        api.refusals["/leases"] = (code, "changed")
        await operator.round()

    async def unanswered(*_: object, **__: object) -> None:
        raise KubeError(0, "no answer")

    operator.leadership._lease.write = unanswered  # type: ignore[method-assign,assignment]
    await operator.round()
    assert (operator.calls, operator.leadership.refusal) == ([], "")


async def test_an_election_that_hangs_is_stuck(api: FakeApi, clock: Clock) -> None:
    operator = Operator(api, "first", clock)
    assert not operator.leadership.stuck
    clock.now += STUCK_AFTER + 1
    assert operator.leadership.stuck


async def test_an_election_outlives_every_error(
    api: FakeApi, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    operator = Operator(api, "first", clock)

    async def fail() -> None:
        raise ZeroDivisionError

    operator.leadership._lease.read = fail  # type: ignore[method-assign,assignment]
    task = asyncio.create_task(operator.leadership.run())
    async with asyncio.timeout(300):
        while "fault of the operator" not in caplog.text:  # noqa: ASYNC110 (no event to wait for)
            await asyncio.sleep(0.001)
    assert not task.done()
    task.cancel()
