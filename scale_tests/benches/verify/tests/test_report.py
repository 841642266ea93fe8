"""The checks of the figures, and the tables of the document."""

from typing import Any

from scale_tests.benches.verify import plan, report
from scale_tests.benches.verify.plan import FIGURES, PRINTED
from scale_tests.host.documents import with_part
from scale_tests.measure.page import markdown_table


def explored(protocol: str, scope: str, order: str, **changes: Any) -> dict[str, Any]:
    executions, failing = FIGURES.get((protocol, scope, order), (729, 19))
    return {
        "part": "explore",
        "protocol": protocol,
        "scope": scope,
        "order": order,
        "mutation": None,
        "executions": executions,
        "failing": failing,
        "fewest": {"decisions": 1, "failing": 3, "classes": 1},
        "executions_per_s": 90_000.0,
        "seconds": 0.5,
        "memory_mb": 30.0,
    } | changes


def checked(model: str, seed: int, lines: int | None) -> dict[str, Any]:
    found = [{"file": "f", "lines": lines, "text": ""}] if lines else []
    return {
        "part": "check",
        "model": model,
        "seed": seed,
        "executions": 100,
        "failed": len(found),
        "counterexamples": found,
    }


def own(executions: int, failing: int, mutation: str | None = None) -> dict[str, Any]:
    return {
        "part": "own",
        "protocol": "delta",
        "mutation": mutation,
        "nodes": 4,
        "executions": executions,
        "failing": failing,
        "seconds": 1.0,
        "quick": False,
    }


def replayed(same: int) -> dict[str, Any]:
    return {
        "part": "replay",
        "file": "x",
        "found_on": "25",
        "otp": "27",
        "times": 10,
        "same": same,
        "changed": 0,
    }


def missed(*cells: dict[str, Any]) -> list[str]:
    return [check.name for check in report.checks(cells) if check.ok is False]


def test_figures_are_exact() -> None:
    assert not missed(*(explored(*key) for key in FIGURES))
    key = "two_phase_commit", "base", "distinct"
    assert len(missed(explored(*key, failing=18))) == 1


def test_speeds_have_floors_and_memory_a_ceiling() -> None:
    key = "three_phase_commit", "raw", "distinct"
    assert missed(explored(*key, executions_per_s=49_000.0)) == ["3PC raw: executions/s"]
    assert missed(explored(*key, memory_mb=300.0)) == ["memory, MiB, most"]


def test_a_printed_counterexample_is_found_with_every_seed_and_short() -> None:
    model = "quorum_kv_honest"
    assert not missed(checked(model, 1, 5), checked(model, 2, 5))
    assert len(missed(checked(model, 1, 5), checked(model, 2, None))) == 1
    assert len(missed(checked(model, 1, 6))) == 1


def test_a_model_that_holds_must_not_fail() -> None:
    assert not missed(checked("quorum_kv_atomic", 1, None))
    assert missed(checked("quorum_kv_atomic", 1, 3)) == ["quorum_kv_atomic: failing"]


def test_own_protocols_hold_in_many_executions_and_mutations_are_caught() -> None:
    assert not missed(own(10_000, 0), own(50, 1, "early_handover"))
    assert len(missed(own(9_999, 0), own(50, 0, "early_handover"))) == 2
    assert len(missed(own(20_000, 1))) == 1


def test_every_replay_must_be_identical() -> None:
    assert not missed(replayed(10))
    assert len(missed(replayed(9))) == 1
    assert len(missed(replayed(10) | {"changed": 1})) == 1


def test_the_document_has_a_place_for_every_table() -> None:
    text = report.DOCUMENT.read_text()
    for name, (_title, table) in report.TABLES.items():
        assert with_part(text, name, "\n".join(markdown_table(table([]))))


def test_commands_are_unique_and_cover_what_is_printed() -> None:
    jobs = [*plan.explorations("tests", "out"), *plan.campaigns("out", quick=False)]
    jobs += plan.own(quick=False)
    assert len({tuple(job.arguments) for job in jobs}) == len(jobs)
    assert {job.arguments[1] for job in jobs} >= set(PRINTED)
