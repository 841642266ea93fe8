"""The plan of a run, and the revision to compare with."""

from __future__ import annotations

from scale_tests.benches.interposition import pairs

BASE = pairs.System(name="base", commit="0123456789ab", paths=("/base/ebin", "/bench/ebin"))
PRESENT = pairs.System(name="present", commit="ba9876543210", paths=("/own/ebin",))


def cells(*systems: pairs.System) -> list[str]:
    return [line for line in pairs.plan(systems).splitlines() if "repetition" in line]


def test_only_the_checkout_is_measured_with_a_rule() -> None:
    ruled = [cell for cell in cells(BASE, PRESENT) if "rules => 1" in cell]
    assert len(ruled) == pairs.REPETITIONS
    assert all("system => present" in cell for cell in ruled)


def test_both_are_measured_in_turns_in_either_order() -> None:
    def order(*systems: pairs.System) -> list[str]:
        return [cell.split()[2] for cell in cells(*systems)][:4]

    assert order(BASE, PRESENT) == ["base,", "present,"] * 2
    assert order(PRESENT, BASE) == ["present,", "base,"] * 2


def test_each_runs_its_own_code() -> None:
    plan = pairs.plan((BASE, PRESENT))
    assert 'paths => ["/base/ebin", "/bench/ebin"]' in plan
    assert 'paths => ["/own/ebin"]' in plan


def test_a_cell_is_named_by_its_figure() -> None:
    assert pairs.metric({"experiment": "throughput"}) == "throughput"
    assert pairs.metric({"experiment": "dispatch", "rules": 0}) == "dispatch"
    assert pairs.metric({"experiment": "dispatch", "rules": 1}) == "dispatch with one rule"
