"""The targets of a deletion, and the runs for them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from scale_tests.benches.deletion import plan, report
from scale_tests.benches.deletion.cli import BENCH
from scale_tests.cluster import crd, operator
from scale_tests.measure.document import RESULTS, document
from scale_tests.measure.page import markdown


def cell(**changes: Any) -> dict[str, Any]:
    return {
        "nodes": 64,
        "overlay": "HyParView",
        "where": "processes",
        "deleted": "cluster",
        "seconds": 9.0,
        "nodes_cpu_s": 2.0,
        "formation_cpu_s": 20.0,
        "api_calls": 512,
        "slowest_answer_s": 0.1,
        "left": 0,
    } | changes


def test_a_selection_of_no_cell_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUICK", "1")
    monkeypatch.setattr(operator, "ready_cluster", lambda **_: pytest.fail("goes on"))
    assert BENCH.main(["--sizes", "256"]) == 1
    assert "there is no such cell: choose other --sizes" in capsys.readouterr().err


def verdicts(*cells: dict[str, Any]) -> list[bool | None]:
    return [check.ok for check in report.checks(cells)]


def test_a_check_without_a_run_is_neither_met_nor_missed() -> None:
    assert verdicts() == [None] * 5
    assert verdicts(cell()) == [True, None, None, None, True]


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"nodes_cpu_s": 4.1}, [0]),
        ({"nodes": 256, "nodes_cpu_s": 4.1}, [1]),
        ({"nodes": 1024, "left": 3}, [2, 3]),
        ({"nodes": 1024, "seconds": 61.0}, [3]),
        ({"slowest_answer_s": 1.2}, [4]),
    ],
)
def test_a_target_that_one_cell_misses_is_missed(
    changes: dict[str, Any], missed: list[int]
) -> None:
    found = verdicts(cell(), cell(**changes))
    assert [index for index, ok in enumerate(found) if ok is False] == missed


def test_the_page_has_a_row_for_each_cell() -> None:
    cells = [cell(), cell(overlay="Cyclon", nodes=256)]
    checks = report.checks(cells)
    meta = document(
        "deletion", started=datetime.now(UTC), versions={}, cells=cells, checks=checks, quick=True
    )["meta"]
    text = markdown(BENCH.plain_page(meta, cells, []), RESULTS)
    assert "| HyParView | 64 |" in text
    assert "| Cyclon | 256 |" in text
    assert "0.100" in text


def test_every_overlay_is_deleted_at_every_size_and_a_namespace_too() -> None:
    points = plan.points(quick=False)
    for nodes in plan.SIZES:
        kinds = {p.overlay for p in points if p.nodes == nodes and p.deleted == "cluster"}
        left_out = set() if nodes <= plan.LARGEST_MESH else {"FullMesh"}
        assert kinds == set(crd.overlays()) - left_out
    assert {p.nodes for p in points if p.deleted == "namespace"} == set(plan.SIZES)
    assert len({p.slug for p in points}) == len(points)
    assert {p.nodes for p in plan.points(quick=True)} == {64}
    chosen = plan.points(quick=False, sizes=[256], overlays=["Cyclon"])
    assert [p.slug for p in chosen] == ["cyclon-256-cluster"]


@pytest.mark.parametrize("point", plan.points(quick=False), ids=lambda point: point.slug)
def test_manifests_are_clusters(point: plan.Point) -> None:
    from partisan_operator.models import PartisanCluster

    manifest = point.manifest()
    manifest["metadata"] |= {"namespace": "default", "uid": "u", "generation": 1}
    manifest["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    assert PartisanCluster.from_wire(manifest).spec.replicas == point.nodes
