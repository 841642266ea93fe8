"""The result and the claims about it."""

from dataclasses import replace

from scale_tests.benches.demo.report import Report
from scale_tests.benches.demo.sample import Sample
from scale_tests.benches.demo.tests import runs
from scale_tests.cluster.partisan import milestones
from scale_tests.cluster.tests.nodes import NODES


def report(samples: list[Sample]) -> Report:
    return Report(manifest=runs.MANIFEST, samples=samples, versions=runs.VERSIONS)


def failed(samples: list[Sample]) -> list[str]:
    return [check.name for check in report(samples).checks(()) if not check.ok]


def test_a_good_run_meets_every_target() -> None:
    assert failed(runs.run()) == []


def test_the_result_has_the_fields_that_scripts_read() -> None:
    result = report(runs.run()).result
    assert result["nodes"] == result["ready"] == result["joined"] == NODES
    assert (result["components"], result["converged"]) == (1, True)
    assert (result["value"], result["increments_sum"], result["threshold"]) == (40, 40, 40)
    assert result["seconds"] == {
        "apply_to_ready": 4.0,
        "apply_to_joined": 4.5,
        "apply_to_converged": 18.25,
    }
    assert result["channels"]["gossip"] == {"messages": 72, "bytes": 7200, "dropped": 0}
    assert result["versions"] == runs.VERSIONS


def test_lost_increments_are_part_of_the_account() -> None:
    assert failed(runs.run(lost=3)) == []


def test_an_increment_that_no_node_accounts_for_fails() -> None:
    last = runs.run()[-1]
    workload = replace(last.cluster.workload, increments_sum=41)
    wrong = replace(last, cluster=replace(last.cluster, workload=workload))
    assert failed([wrong]) == ["value + lost increments"]


def test_a_replica_with_another_value_fails_whatever_the_operator_says() -> None:
    last = runs.run()[-1]
    odd = replace(last.nodes[0], value=39)
    assert failed([replace(last, nodes=(odd, *last.nodes[1:]))]) == [
        "different values among the replicas"
    ]


def test_views_that_do_not_connect_fail_whatever_the_operator_says() -> None:
    last = runs.run()[-1]
    apart = tuple(replace(node, active=()) for node in last.nodes)
    assert failed([replace(last, nodes=apart)]) == ["components of the nodes' own views"]


def test_a_milestone_that_was_not_reached_has_no_time() -> None:
    assert milestones({"appliedAt": "2026-01-01T00:00:00Z"}) == {
        "apply_to_ready": None,
        "apply_to_joined": None,
        "apply_to_converged": None,
    }
