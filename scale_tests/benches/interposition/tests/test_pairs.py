"""The plan of a run, and the revision to compare with."""

from __future__ import annotations

from scale_tests.benches.interposition import pairs


def test_only_the_checkout_is_measured_with_a_rule() -> None:
    assert "rules => 1" not in pairs.plan("base")
    assert pairs.plan("present").count("rules => 1") == pairs.REPETITIONS


def test_a_plan_names_two_places_and_one_system() -> None:
    plan = pairs.plan("base")
    assert "hosts => [#{ip => {127,0,7,1}, command => []}, #{ip => {127,0,7,2}" in plan
    assert "systems => #{base => #{module => bench_ours," in plan
    assert plan.count("experiment => throughput") == pairs.REPETITIONS


def test_a_cell_is_named_by_its_figure() -> None:
    assert pairs.metric({"experiment": "throughput"}) == "throughput"
    assert pairs.metric({"experiment": "dispatch", "rules": 0}) == "dispatch"
    assert pairs.metric({"experiment": "dispatch", "rules": 1}) == "dispatch with one rule"
