"""The plan of a run, and the revision to compare with."""

from scale_tests.benches.interposition import pairs
from scale_tests.measure import systems
from scale_tests.measure.systems import System

BASE = pairs.system("base", ["/base/ebin", "/bench/ebin"])
PRESENT = pairs.system("present", ["/own/ebin"])


def test_only_the_checkout_is_measured_with_a_rule() -> None:
    ruled = [job for job in pairs.jobs((BASE, PRESENT)) if job.settings.get("rules") == 1]
    assert len(ruled) == pairs.REPETITIONS
    assert all(job.system == PRESENT for job in ruled)


def test_both_are_measured_in_turns_in_either_order() -> None:
    def order(*both: System) -> list[str]:
        return [job.system.name for job in pairs.jobs(both)][:4]

    assert order(BASE, PRESENT) == ["base", "present"] * 2
    assert order(PRESENT, BASE) == ["present", "base"] * 2


def test_each_runs_its_own_code() -> None:
    plan = systems.plan_text(pairs.LOOPBACK, pairs.jobs((BASE, PRESENT)))
    assert 'paths => ["/base/ebin", "/bench/ebin"]' in plan
    assert 'paths => ["/own/ebin"]' in plan


def test_a_cell_is_named_by_its_figure() -> None:
    assert pairs.metric({"experiment": "throughput"}) == "throughput"
    assert pairs.metric({"experiment": "dispatch", "rules": 0}) == "dispatch"
    assert pairs.metric({"experiment": "dispatch", "rules": 1}) == "dispatch with one rule"
