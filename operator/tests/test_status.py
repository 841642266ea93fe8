"""The status, from an observation.

Over 300 lines: all cases are one function's, and share `settled`.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from partisan_operator.decide import reconcile
from partisan_operator.decide.actions import Delete, Plan
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.models.overlay import OverlayKind
from partisan_operator.models.problem import Problem, Reason
from partisan_operator.models.status import MAX_COUNT, ChannelStatus, ConditionType, Phase
from partisan_operator.observe.observation import Observation, Seen
from partisan_operator.observe.report import OverlayReport, WorkloadReport
from partisan_operator.observe.running import running_overlay
from partisan_operator.status.announcements import announcements
from partisan_operator.status.run import Ledger
from partisan_operator.status.status import Findings, status_of
from partisan_operator.status.writing import worth_writing
from world import INSTALLATION, START, World, cluster

COUNTER = {"workload": {"adCounter": {"impressions": 10}}}


def settled(spec: dict[str, Any]) -> World:
    wanted, world = cluster(spec), World()
    for _ in range(6):
        world.perform(
            reconcile.plan(
                wanted, reconcile.desired(wanted, INSTALLATION), world.observe(), INSTALLATION
            )
        )
        world.step()
    return world


def status(
    wanted: PartisanCluster,
    observation: Observation,
    *,
    acted: bool = False,
    outdated: int = 0,
    problem: Problem | None = None,
    channels: tuple[ChannelStatus, ...] = (),
) -> PartisanClusterStatus:
    kept = max(wanted.spec.replicas, observation.ordinals(wanted))
    actions = (Delete("Service", "ads-old", "uid"),) if acted else ()
    plan = Plan((actions,), outdated, problem, kept, None)
    return status_of(wanted, Findings(observation, plan, Ledger(), problem, channels))[0]


def reason(found: PartisanClusterStatus, kind: ConditionType) -> tuple[str, str]:
    condition = found.condition(kind)
    assert condition is not None
    return condition.status, condition.reason


def with_overlay(seen: Seen, **fields: Any) -> Seen:
    """Return the same report with another overlay."""
    overlay = seen.report.overlay.model_copy(update=fields)
    return replace(seen, report=seen.report.model_copy(update={"overlay": overlay}))


def after(wanted: PartisanCluster, found: PartisanClusterStatus) -> PartisanCluster:
    """Return the cluster with that status written."""
    return replace(wanted, status=found)


def test_a_cluster_before_its_pods() -> None:
    found = status(cluster(), World().observe(), acted=True)
    assert found.phase is Phase.PENDING
    assert (found.replicas, found.ready, found.joined) == (0, 0, 0)
    assert reason(found, ConditionType.READY) == ("False", "NodesMissing")
    assert reason(found, ConditionType.OVERLAY_CONNECTED) == ("Unknown", "NoAnswer")
    assert reason(found, ConditionType.WORKLOAD_CONVERGED) == ("Unknown", "NoWorkload")
    assert found.converged == "Unknown"
    assert found.timings.applied_at == "2026-01-01T00:00:00Z"
    assert found.timings.ready_at is None


def test_a_cluster_that_is_complete() -> None:
    found = status(cluster(), settled({}).observe())
    assert found.phase is Phase.READY
    assert (found.replicas, found.ready, found.joined, found.updated) == (3, 3, 3, 3)
    assert found.selector == "partisan.dev/cluster=ads"
    assert found.overlay is not None
    assert (found.overlay.components, found.overlay.isolated) == (1, 0)
    for kind in (ConditionType.READY, ConditionType.OVERLAY_CONNECTED):
        assert reason(found, kind)[0] == "True"
    for kind in (ConditionType.PROGRESSING, ConditionType.DEGRADED, ConditionType.PAUSED):
        assert reason(found, kind)[0] == "False"
    assert found.timings.ready_at is not None
    assert found.timings.joined_at is not None


def test_a_partitioned_overlay_is_not_ready() -> None:
    observation = settled({}).observe()
    alone = {name: with_overlay(seen, active=()) for name, seen in observation.seen.items()}
    found = status(cluster(), replace(observation, seen=alone))
    assert found.phase is Phase.FORMING
    assert reason(found, ConditionType.OVERLAY_CONNECTED) == ("False", "Partitioned")
    assert reason(found, ConditionType.READY) == ("False", "Partitioned")
    progressing = found.condition(ConditionType.PROGRESSING)
    assert progressing is not None
    assert progressing.message == "All 3 nodes have joined, in 3 components"
    assert found.timings.ready_at is not None
    assert found.timings.joined_at is None


def test_a_node_that_does_not_answer_has_not_joined() -> None:
    observation = settled({}).observe()
    seen = {name: entry for name, entry in observation.seen.items() if name != "ads-1"}
    found = status(cluster(), replace(observation, seen=seen))
    assert found.joined == 2
    assert reason(found, ConditionType.READY) == ("False", "NodesNotJoined")


def test_milestones_wait_until_changes_are_in_force() -> None:
    observation = settled({}).observe()
    assert status(cluster(), observation, acted=True).timings.ready_at is None


def test_a_new_generation_has_milestones_of_its_own() -> None:
    observation = settled({}).observe()
    first = status(cluster(), observation)
    later = replace(observation, at=START + timedelta(hours=1))
    second = status(after(cluster(generation=2), first), later)
    assert second.observed_generation == 2
    assert second.timings.applied_at == second.timings.ready_at == "2026-01-01T01:00:00.000Z"


def test_a_generation_that_is_not_followed_reaches_no_milestone() -> None:
    observation = settled({}).observe()
    first = status(cluster(), observation)
    wanted = after(cluster(generation=2), first)
    found = status(wanted, observation, problem=Problem(Reason.INVALID_SPEC, "why"))
    assert (found.timings.ready_at, found.timings.joined_at) == (None, None)
    assert "OverlayFormed" not in {entry.reason for entry in announcements(first, found)}
    unavailable = Problem(Reason.POD_MONITOR_UNAVAILABLE, "why")
    assert status(wanted, observation, problem=unavailable).timings.joined_at is not None


def test_a_transition_has_the_time_of_the_change_of_status_only() -> None:
    world = World()
    first = status(cluster(), world.observe(), acted=True)
    world.step()
    second = status(after(cluster(), first), world.observe(), acted=True)
    assert second.conditions == first.conditions
    third = status(after(cluster(), second), settled({}).observe())
    ready = third.condition(ConditionType.READY)
    assert ready is not None
    assert ready.last_transition_time == third.observed_at


@pytest.mark.parametrize(
    ("fields", "phase"),
    [
        ({"problem": Problem(Reason.CRASH_LOOPING, "x")}, Phase.DEGRADED),
        ({"outdated": 2}, Phase.UPDATING),
    ],
)
def test_phases(fields: dict[str, Any], phase: Phase) -> None:
    assert status(cluster(), settled({}).observe(), **fields).phase is phase


def test_a_paused_cluster_says_so() -> None:
    found = status(cluster({"paused": True}), settled({}).observe())
    assert found.phase is Phase.PAUSED
    assert reason(found, ConditionType.PAUSED) == ("True", "SpecPaused")


def test_a_change_has_not_ended_before_it_is_seen_to_begin() -> None:
    world = settled({})
    applied = status(cluster(), world.observe(), acted=True)
    assert reason(applied, ConditionType.PROGRESSING) == ("True", "Applying")
    observed = world.observe()
    (key,) = (key for key in observed.live if key[0] == "StatefulSet")
    shard = observed.live[key]
    unseen = {**shard, "metadata": {**shard["metadata"], "generation": 99}}
    waiting = status(
        after(cluster(), applied), replace(observed, live={**observed.live, key: unseen})
    )
    assert reason(waiting, ConditionType.PROGRESSING) == ("True", "Applying")
    rolling = status(after(cluster(), waiting), observed, outdated=1)
    assert "RolloutStarted" in [a.reason for a in announcements(waiting, rolling)]
    last = status(after(cluster(), rolling), observed, acted=True)
    assert reason(last, ConditionType.PROGRESSING) == ("True", "RollingOut")
    done = status(after(cluster(), last), observed)
    assert reason(done, ConditionType.PROGRESSING) == ("False", "Settled")
    assert "RolloutFinished" in [a.reason for a in announcements(last, done)]


def test_a_rollout_lasts_until_the_last_pod_is_back() -> None:
    world = settled({})
    rolling = status(cluster(), world.observe(), outdated=1)
    assert reason(rolling, ConditionType.PROGRESSING) == ("True", "RollingOut")
    del world.pods["ads-2"]
    world.step()
    returning = status(after(cluster(), rolling), world.observe())
    assert reason(returning, ConditionType.PROGRESSING) == ("True", "RollingOut")
    world.step()
    world.step()
    done = status(after(cluster(), returning), world.observe())
    assert reason(done, ConditionType.PROGRESSING) == ("False", "Settled")
    assert [a.reason for a in announcements(returning, done)] == ["RolloutFinished"]


def working(
    world: World, *, increments: int, value: int, phase: str, spec: dict[str, Any] = COUNTER
) -> Observation:
    """Return an observation of nodes that each counted `increments`."""
    observation = world.observe()
    run = status(cluster(spec), observation).workload
    assert run is not None
    part: dict[str, Any] = {
        "run": run.run,
        "phase": phase,
        "increments": increments,
        "value": value,
        "threshold": 10,
        "converged": phase == "finished",
        "digest": "d",
        "started_at": START.timestamp(),
        "finished_at": START.timestamp() if phase == "finished" else None,
    }
    seen = {
        name: replace(
            entry,
            report=entry.report.model_copy(
                update={"workload": WorkloadReport(actor=f"{name}/1", **part)}
            ),
        )
        for name, entry in observation.seen.items()
    }
    return replace(observation, seen=seen)


def test_a_run_from_start_to_end() -> None:
    world = settled(COUNTER)
    running = status(cluster(COUNTER), working(world, increments=2, value=5, phase="running"))
    assert running.phase is Phase.RUNNING
    assert running.converged == "False"
    done = status(cluster(COUNTER), working(world, increments=4, value=12, phase="finished"))
    assert done.phase is Phase.CONVERGED
    assert done.converged == "True"
    assert reason(done, ConditionType.WORKLOAD_CONVERGED) == ("True", "Converged")
    assert done.timings.converged_at == "2026-01-01T00:00:00.000Z"
    assert {a.reason for a in announcements(running, done)} == {"RunConverged"}


def test_a_wrong_counter_is_reported() -> None:
    """Equal replicas are not enough: the value must be the number of increments."""
    world = settled(COUNTER)
    found = status(cluster(COUNTER), working(world, increments=4, value=13, phase="finished"))
    assert found.converged == "False"
    assert reason(found, ConditionType.WORKLOAD_CONVERGED) == ("False", "CounterMismatch")


def test_the_last_figures_and_their_time_stay_while_no_node_answers() -> None:
    world, wanted = settled(COUNTER), cluster(COUNTER)
    running = status(wanted, working(world, increments=2, value=5, phase="running"))
    silent = replace(world.observe(), seen={}, at=world.now + timedelta(minutes=1))
    found = status(after(wanted, running), silent)
    assert running.workload is not None
    assert found.workload == running.workload
    assert found.converged == "Unknown"
    condition = found.condition(ConditionType.WORKLOAD_CONVERGED)
    assert condition is not None
    assert (condition.status, condition.reason) == ("Unknown", "NoAnswer")
    assert condition.message.endswith(f"reported at {running.workload.observed_at}")
    # Time alone is no reason for a write.
    again = status(after(wanted, found), replace(silent, at=silent.at + timedelta(seconds=1)))
    assert not worth_writing(again, found)


def test_nodes_kept_by_a_rejected_scale_down_continue_to_count() -> None:
    world, few = settled(COUNTER), cluster(COUNTER | {"replicas": 2})
    observation = working(world, increments=4, value=12, phase="finished")
    found = status(few, observation, problem=Problem(Reason.SCALE_DOWN_REFUSED, "why"))
    assert found.workload is not None
    assert (found.workload.increments_sum, found.workload.replaced_nodes) == (12, 0)
    assert found.converged == "True"


def test_a_run_of_faulty_nodes_has_figures_that_the_api_server_stores() -> None:
    world = settled(COUNTER)
    found = status(cluster(COUNTER), working(world, increments=MAX_COUNT, value=5, phase="running"))
    assert found.workload is not None
    assert found.workload.increments_sum == MAX_COUNT


def test_a_custom_workload_ends_with_its_own_value() -> None:
    spec = {"workload": {"custom": {"module": "rumours"}}}
    observation = working(settled(spec), increments=0, value=12, phase="finished", spec=spec)
    found = status(cluster(spec), observation)
    run = found.workload
    assert run is not None
    assert (run.module, run.value, run.threshold) == ("rumours", 12, 10)
    assert (run.overcounting_percent, run.lost_increments) == (None, 0)
    assert reason(found, ConditionType.WORKLOAD_CONVERGED) == ("True", "Converged")
    announced = announcements(PartisanClusterStatus(), found)
    assert "Every node holds 12" in [announcement.message for announcement in announced]


def test_a_settled_cluster_is_not_written_to() -> None:
    observation = settled({}).observe()
    first = status(cluster(), observation)
    later = replace(observation, at=START + timedelta(days=1))
    traffic = ChannelStatus(
        name="overlay", messages=9, bytes=9, dropped=0, queue_bytes=0,
        messages_per_second=1, bytes_per_second=1,
    )  # fmt: skip
    second = status(after(cluster(), first), later, channels=(traffic,))
    assert second != first
    assert not worth_writing(second, first)


def test_the_status_of_an_active_cluster_updates_traffic_periodically() -> None:
    world = World()
    first = status(cluster(), world.observe(), acted=True)
    soon = replace(world.observe(), at=world.now + timedelta(seconds=1))
    assert not worth_writing(status(after(cluster(), first), soon), first)
    later = replace(world.observe(), at=world.now + timedelta(seconds=6))
    assert worth_writing(status(after(cluster(), first), later), first)


def test_a_status_from_the_future_is_overwritten() -> None:
    world = World()
    ahead = replace(world.observe(), at=world.now + timedelta(hours=1))
    first = status(cluster(), ahead, acted=True)
    assert worth_writing(status(after(cluster(), first), world.observe()), first)


def test_a_changed_status_is_written() -> None:
    world = settled({})
    first = status(cluster(), world.observe())
    del world.pods["ads-2"]
    world.step()
    assert worth_writing(status(after(cluster(), first), world.observe()), first)


def test_a_cluster_for_development_says_so() -> None:
    observation = settled({}).observe()
    usual = status(cluster({}), observation)
    assert usual.condition(ConditionType.DEVELOPMENT) is None
    developing = status(cluster({"development": True}), observation)
    assert reason(developing, ConditionType.DEVELOPMENT) == ("True", "HotCodeLoading")
    (event,) = [a for a in announcements(usual, developing) if a.reason == "HotCodeLoading"]
    assert event.type == "Warning"
    assert "not for production" in event.message
    reasons = [a.reason for a in announcements(developing, developing)]
    assert "HotCodeLoading" not in reasons + [a.reason for a in announcements(developing, usual)]


def test_each_thing_is_announced_once() -> None:
    observation = settled({}).observe()
    wanted = cluster()
    first = status(wanted, observation)
    announced = announcements(PartisanClusterStatus(), first)
    assert [a.reason for a in announced] == ["OverlayFormed"]
    assert "3 nodes joined one overlay" in announced[0].message
    again = status(after(wanted, first), observation)
    assert announcements(first, again) == ()
    problem = Problem(Reason.IMAGE_PULL_FAILED, "why")
    bad = status(after(wanted, again), observation, problem=problem)
    assert [(a.type, a.reason) for a in announcements(again, bad)] == [
        ("Warning", "ImagePullFailed")
    ]
    well = status(after(wanted, bad), observation)
    assert [a.reason for a in announcements(bad, well)] == ["Recovered"]
    paused = status(after(cluster({"paused": True}), well), observation)
    assert [a.reason for a in announcements(well, paused)] == ["Paused"]
    assert [a.reason for a in announcements(paused, well)] == ["Resumed"]


def test_a_switch_of_the_overlay_from_start_to_end() -> None:
    """The nodes' reports count, not the spec alone."""
    world, wanted = settled({}), cluster({"overlay": {"kind": "FullMesh"}}, generation=2)
    before = status(cluster(), world.observe())
    asked = status(after(wanted, before), world.observe())
    assert (asked.phase, asked.configured) == (Phase.UPDATING, 0)
    assert reason(asked, ConditionType.PROGRESSING) == ("True", "Reconfiguring")
    assert overlay_of(asked) == ("HyParView", None)
    assert asked.timings.joined_at is None
    # All nodes but one switch; each runs the previous overlay for a while.
    observed = world.observe()
    world.perform(
        reconcile.plan(wanted, reconcile.desired(wanted, INSTALLATION), observed, INSTALLATION)
    )
    switching = {
        name: with_overlay(seen, former="hyparview") for name, seen in world.observe().seen.items()
    }
    moving = status(
        after(wanted, asked), replace(observed, seen=switching | {"ads-2": observed.seen["ads-2"]})
    )
    assert (moving.configured, overlay_of(moving)) == (2, ("FullMesh", "HyParView"))
    assert [a.reason for a in announcements(asked, moving)] == ["OverlaySwitchStarted"]
    both = status(after(wanted, moving), replace(observed, seen=switching))
    assert (both.configured, both.phase) == (3, Phase.UPDATING)
    assert announcements(moving, both) == ()
    done = status(after(wanted, both), world.observe())
    assert (done.phase, done.updated, overlay_of(done)) == (Phase.READY, 3, ("FullMesh", None))
    assert reason(done, ConditionType.PROGRESSING) == ("False", "Settled")
    reasons = [a.reason for a in announcements(both, done)]
    assert reasons == ["OverlayFormed", "OverlaySwitched"]


def test_the_overlay_in_force_is_the_one_that_most_nodes_run() -> None:
    def running(*kinds: tuple[str, str | None]) -> tuple[str, str | None]:
        reports = (OverlayReport(kind=kind, former=former) for kind, former in kinds)
        found = running_overlay(reports, wanted=OverlayKind.CYCLON, earlier=OverlayKind.STATIC)
        return found.kind.value, None if found.previous is None else found.previous.value

    old, new, both = ("xbot", None), ("cyclon", None), ("cyclon", "xbot")
    assert running() == ("Static", None)
    assert running(("", None), ("made up", "too")) == ("Static", None)
    assert running(new, new) == ("Cyclon", None)
    assert running(old, new) == ("Cyclon", "XBot")
    assert running(old, old, both) == ("XBot", "Cyclon")
    assert running(both, new) == ("Cyclon", "XBot")
    assert running(("cyclon", "cyclon"), new) == ("Cyclon", "Cyclon")


def overlay_of(found: PartisanClusterStatus) -> tuple[str, str | None]:
    assert found.overlay is not None
    also = found.overlay.previous_kind
    return found.overlay.kind.value, None if also is None else also.value


def test_the_status_survives_serialisation() -> None:
    found = status(cluster(COUNTER), settled(COUNTER).observe())
    assert PartisanClusterStatus.model_validate(found.to_wire()) == found


def test_an_unreadable_status_is_recomputed() -> None:
    assert cluster(status={"phase": "Nonsense"}).status == PartisanClusterStatus()
