"""Failures of a reconcile: the status reports them, and the loop retries with growing pauses."""

import itertools
from typing import Any

import pytest

from loop_rig import CLUSTER, EVENTS, SET, Rig
from partisan_operator import loop
from partisan_operator.decide import reconcile

WRONG = (
    "failed to create typed patch object (default/ads; apps/v1, Kind=StatefulSet):"
    " .spec.template.spec.affinity.nonsense: field not declared in schema"
)


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(rig: Rig) -> Clock:
    clock = Clock()
    rig.set_clock(clock)
    return clock


async def test_an_apply_of_a_wrong_structure_is_reported_although_the_answer_is_500(
    rig: Rig, clock: Clock
) -> None:
    rig.api.refusals = {"/statefulsets/ads": (500, WRONG)}
    assert await rig.round() == 1.0
    assert rig.condition("Degraded")["status"] == "False"
    clock.now = 5.0
    assert await rig.round() == 2.0
    degraded, progressing = rig.condition("Degraded"), rig.condition("Progressing")
    assert (degraded["status"], degraded["reason"]) == ("True", "ApplyFailed")
    assert "apply StatefulSet ads" in degraded["message"]
    assert "affinity.nonsense: field not declared" in degraded["message"]
    assert (progressing["status"], progressing["reason"]) == ("False", "ApplyFailed")
    assert rig.status["phase"] == "Degraded"
    rig.api.refusals = {}
    assert await rig.round() == rig.tools.settings.active_period
    assert SET in rig.api.objects
    assert rig.condition("Degraded")["status"] == "False"
    assert rig.events() == ["ApplyFailed", "Recovered"]


async def test_a_reported_problem_persists_across_a_takeover(rig: Rig, clock: Clock) -> None:
    rig.api.refusals = {"/statefulsets/ads": (500, WRONG)}
    await rig.round()
    clock.now = 5.0
    await rig.round()
    rig.loop = loop.ClusterLoop("default", "ads", rig.tools)
    await rig.round()
    assert rig.condition("Degraded")["reason"] == "ApplyFailed"
    assert rig.events() == ["ApplyFailed"]


async def test_pauses_between_failures_grow_and_have_an_end(rig: Rig) -> None:
    rig.api.refusals = {"/statefulsets/ads": (422, "spec.replicas: nonsense")}
    pauses = [await rig.round() for _ in range(7)]
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


async def test_a_persistent_failure_is_written_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ArithmeticError("-1 is no quantity")

    # From the beginning: nothing has been observed.
    monkeypatch.setattr(reconcile, "desired", fail)
    await rig.round()
    assert rig.condition("Degraded")["reason"] == "ReconcileFailed"
    writes = rig.api.writes
    for _ in range(3):
        await rig.round()
    assert rig.api.writes == writes


async def test_a_fault_of_the_operator_reaches_the_status(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.converge()

    def fail(*_: Any) -> None:
        raise ArithmeticError("-1 is no quantity")

    with monkeypatch.context() as patched:
        patched.setattr(reconcile, "desired", fail)
        assert [await rig.round(), await rig.round()] == [1.0, 2.0]
    degraded, ready = rig.condition("Degraded"), rig.condition("Ready")
    assert (degraded["status"], degraded["reason"]) == ("True", "ReconcileFailed")
    assert "ArithmeticError: -1 is no quantity" in degraded["message"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "ReconcileFailed")
    assert rig.condition("OverlayConnected")["status"] == "True"
    await rig.round()
    assert rig.condition("Ready")["status"] == "True"
    assert rig.status["phase"] == "Converged"


async def test_a_fault_in_a_report_does_not_end_the_loop(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise ArithmeticError("no such Event")

    monkeypatch.setattr("partisan_operator.act.reporter.announcements", fail)
    assert [await rig.round(), await rig.round()] == [1.0, 2.0]
    assert "the status was not written: this is a fault of the operator" in caplog.text


async def test_a_persistent_failure_to_observe_is_reported(
    rig: Rig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.converge()
    rig.make_resync_due()
    rig.api.unlisted = {"services": (500, "cannot decode the list")}
    await rig.round()
    assert rig.condition("Degraded")["status"] == "False"
    clock.now = 5.0
    await rig.round()
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == "ReconcileFailed"
    assert "cannot decode the list (list Service)" in degraded["message"]
    rig.api.unlisted = {}
    await rig.round()
    assert rig.condition("Degraded")["status"] == "False"


async def test_a_spec_that_the_operator_cannot_read_is_reported(rig: Rig) -> None:
    rig.change({"replicas": {"many": True}})
    assert [await rig.round(), await rig.round()] == [1.0, 2.0]
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == "InvalidSpec"
    assert "replicas" in degraded["message"]
    assert rig.events() == ["InvalidSpec"]


async def test_a_failed_write_of_an_event_blocks_nothing(rig: Rig) -> None:
    rig.api.refusals = {EVENTS: (403, "exceeded quota: events")}
    await rig.converge()
    assert rig.status["phase"] == "Converged"
    assert rig.events() == []


async def test_a_recurring_condition_is_one_event_with_a_count(rig: Rig) -> None:
    await rig.converge()
    for generation in itertools.count(2, 2):
        rig.api.refusals = {"/statefulsets/ads": (422, f"the attempt of {generation}")}
        rig.change({"image": f"node:{generation}"})
        rig.api.objects[CLUSTER]["metadata"]["generation"] = generation
        await rig.round()
        rig.api.refusals = {}
        await rig.round()
        if generation == 6:
            break
    failed, recovered = rig.event("ApplyFailed"), rig.event("Recovered")
    assert (failed["count"], recovered["count"]) == (3, 3)
    assert "the attempt of 6" in failed["message"]


async def test_a_partition_is_timed_from_when_all_had_joined(rig: Rig, clock: Clock) -> None:
    rig.nodes.parted = True
    await rig.round()
    rig.bring_up_pods()
    # The cluster has not been ready for long, as after a scale-down; the partition is new.
    rig.condition("Ready")["lastTransitionTime"] = "2025-12-31T00:00:00Z"
    await rig.round()
    rig.condition("OverlayConnected")["lastTransitionTime"] = "2025-12-31T00:00:00Z"
    clock.now = 19.0
    await rig.round()
    assert rig.condition("OverlayConnected")["reason"] == "Partitioned"
    assert rig.condition("Degraded")["status"] == "False"
    clock.now = 20.0
    await rig.round()
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == "OverlayPartitioned"
    assert "3 components for at least 20 s" in degraded["message"]
