"""The run of the workload: figures, agreement, start."""

from typing import Any

from partisan_operator.decide.workload import should_start
from partisan_operator.models.status import RetiredActor, WorkloadStatus
from partisan_operator.models.workload import AD_COUNTER
from partisan_operator.observe.report import NodeReport
from partisan_operator.status import run as workload
from partisan_operator.status.departed import DepartedActors
from partisan_operator.status.run import Ledger
from world import report

RUN = "r1"
NODES = ("ads-0", "ads-1")


def node(name: str, increments: int, *, actor: str = "1", **fields: Any) -> NodeReport:
    part = {
        "kind": "adcounter",
        "run": RUN,
        "phase": "running",
        "actor": f"{name}/{actor}",
        "increments": increments,
    }
    return report(name, workload=part | fields)


def finished(name: str, increments: int, value: int, **fields: Any) -> NodeReport:
    ended = {"phase": "finished", "converged": True, "digest": "d"}
    times = {"started_at": 10.0, "finished_at": 20.0}
    return node(name, increments, value=value, **(ended | times | fields))


def reports(*nodes: NodeReport) -> dict[str, NodeReport]:
    return {entry.node: entry for entry in nodes}


def run(
    *observations: dict[str, NodeReport], expected: tuple[str, ...] = NODES
) -> tuple[Ledger, DepartedActors]:
    """Advance by observations, one after the other."""
    ledger, gone = Ledger(), DepartedActors()
    for observed in observations:
        ledger, gone = workload.advance(ledger, gone, RUN, expected, observed)
    return ledger, gone


def measure(
    ledger: Ledger,
    gone: DepartedActors,
    observed: dict[str, NodeReport],
    *,
    earlier: WorkloadStatus | None = None,
) -> WorkloadStatus:
    done = workload.verdict(RUN, NODES, observed).converged
    return workload.measure(
        ledger,
        gone,
        observed,
        module=AD_COUNTER,
        threshold=10,
        earlier=earlier,
        finished=done,
        now=100.0,
    )


def test_a_run_without_faults() -> None:
    observed = reports(finished("ads-0", 6, 11), finished("ads-1", 5, 11))
    status = measure(*run(observed), observed)
    assert status.phase == "Finished"
    assert (status.value, status.increments_sum, status.lost_increments) == (11, 11, 0)
    assert status.overcounting_percent == 10.0
    assert status.started_at == "1970-01-01T00:00:10.000Z"
    assert status.finished_at == "1970-01-01T00:00:20.000Z"
    assert status.replaced_nodes == 0


def test_increments_that_a_killed_node_had_not_sent_are_lost() -> None:
    old = {"ads-1/1": 3}
    last = reports(finished("ads-0", 8, 12, superseded=old), finished("ads-1", 1, 12, actor="2"))
    ledger, gone = run(reports(node("ads-0", 2), node("ads-1", 5)), reports(node("ads-0", 3)), last)
    assert gone.retired == (RetiredActor(actor="ads-1/1", increments=5, counted=3),)
    status = measure(ledger, gone, last)
    assert (status.value, status.increments_sum, status.lost_increments) == (12, 14, 2)
    assert status.replaced_nodes == 1


def test_increments_after_the_last_observation_count_as_far_as_they_were_sent() -> None:
    observed = reports(
        finished("ads-0", 5, 12, superseded={"ads-1/1": 7}), finished("ads-1", 0, 12, actor="2")
    )
    ledger, gone = run(reports(node("ads-0", 2), node("ads-1", 5)), observed)
    status = measure(ledger, gone, observed)
    assert (status.increments_sum, status.lost_increments) == (12, 0)


def test_a_restarted_operator_keeps_departed_actors() -> None:
    _, gone = run(reports(node("ads-0", 2), node("ads-1", 5)), reports(node("ads-1", 0, actor="2")))
    again = workload.advance(Ledger(), gone, RUN, NODES, reports(node("ads-0", 3)))
    assert again[1] == gone == DepartedActors((RetiredActor(actor="ads-1/1", increments=5),))


def test_a_new_operator_learns_departed_actors_from_the_nodes() -> None:
    observed = reports(node("ads-0", 2, superseded={"ads-1/1": 4}), node("ads-1", 0, actor="2"))
    found = run(observed)[1]
    assert found == DepartedActors((RetiredActor(actor="ads-1/1", increments=4, counted=4),))


def test_increments_sent_by_removed_nodes_are_kept() -> None:
    ledger, _ = run(reports(node("ads-0", 6), node("ads-1", 5)))
    last = reports(finished("ads-0", 7, 10))
    ledger, gone = workload.advance(ledger, DepartedActors(), RUN, ("ads-0",), last)
    status = workload.measure(
        ledger,
        gone,
        last,
        module=AD_COUNTER,
        threshold=10,
        earlier=None,
        finished=True,
        now=100.0,
    )
    assert (status.value, status.increments_sum, status.lost_increments) == (10, 12, 2)


def test_a_restarted_container_is_the_same_actor() -> None:
    observed = reports(node("ads-0", 3), node("ads-1", 5))
    _, gone = run(reports(node("ads-0", 2), node("ads-1", 5)), reports(node("ads-0", 2)), observed)
    assert gone == DepartedActors()


def test_an_actor_of_an_unknown_node_is_ignored() -> None:
    assert run(reports(node("ads-0", 2, superseded={"evil-7/1": 10**18})))[1] == DepartedActors()


def test_a_node_counts_under_no_name_but_its_own() -> None:
    ledger, _ = run(reports(node("ads-0", 2)))
    stolen = workload.advance(ledger, DepartedActors(), RUN, NODES, {"ads-0": node("ads-1", 7)})
    assert stolen[0].actors == ledger.actors


def test_a_node_that_is_replaced_before_the_run_is_no_loss() -> None:
    waiting = reports(node("ads-0", 0, phase="waiting"))
    _, gone = run(waiting, reports(node("ads-0", 0, phase="waiting", actor="2")))
    assert gone == DepartedActors()


def test_another_run_begins_with_an_empty_ledger() -> None:
    ledger, _ = run(reports(node("ads-0", 5)))
    assert workload.advance(ledger, DepartedActors(), "r2", NODES, {}) == (
        Ledger("r2"),
        DepartedActors(),
    )


def test_a_finished_run_keeps_its_result() -> None:
    observed = reports(finished("ads-0", 6, 11), finished("ads-1", 5, 11))
    ended = measure(*run(observed), observed)
    later = reports(node("ads-0", 0, actor="9"))
    assert measure(*run(observed, later), later, earlier=ended) == ended


def test_a_run_that_no_node_reports_keeps_its_last_status() -> None:
    observed = reports(node("ads-0", 3, value=8), node("ads-1", 5, value=7))
    ledger, gone = run(observed)
    seen = measure(ledger, gone, observed)
    assert (seen.value, seen.observed_at) == (8, "1970-01-01T00:01:40.000Z")
    later = workload.measure(
        ledger, gone, {}, module=AD_COUNTER, threshold=10, earlier=seen, finished=False, now=900.0
    )
    assert later == seen
    # Another operator, which observed none of it, keeps this result too.
    assert measure(Ledger(RUN), DepartedActors(), {}, earlier=seen) == seen


def test_a_fast_clock_does_not_end_a_run_in_the_future() -> None:
    observed = reports(
        finished("ads-0", 5, 10, finished_at=5000.0), finished("ads-1", 5, 10, started_at=4000.0)
    )
    status = measure(*run(observed), observed)
    assert status.finished_at == "1970-01-01T00:01:40.000Z"


def test_verdicts() -> None:
    def reason(*nodes: NodeReport) -> str:
        return workload.verdict(RUN, NODES, reports(*nodes)).reason

    done = finished("ads-1", 5, 10)
    assert reason(done) == "NodesMissing"
    waiting = [node(name, 0, phase="waiting") for name in NODES]
    assert reason(*waiting) == "Waiting"
    assert reason(node("ads-0", 5), done) == "Running"
    assert reason(finished("ads-0", 5, 10, converged=False), done) == "Running"
    assert reason(finished("ads-0", 5, 10, digest="other"), done) == "CountersDiffer"
    assert reason(finished("ads-0", 5, 11), done) == "CountersDiffer"
    assert reason(finished("ads-0", 5, 10), done) == "Converged"
    assert reason(finished("ads-0", 5, 10, run="another"), done) == "NodesMissing"


def test_the_run_starts_when_every_node_waits_in_the_overlay() -> None:
    waiting = [node(name, 0, phase="waiting") for name in NODES]
    assert should_start(RUN, NODES, reports(*waiting))
    assert not should_start(RUN, NODES, reports(waiting[0]))
    assert not should_start(RUN, NODES, reports(waiting[0], node("ads-1", 1)))
    absent = report("ads-1", joined=False, workload=waiting[1].workload)
    assert not should_start(RUN, NODES, reports(waiting[0], absent))
    assert not should_start("another", NODES, reports(*waiting))
