"""The targets of a staging run, by made-up findings."""

import re
from dataclasses import replace

from charts.tools.alerts import chart_alerts
from scale_tests.benches.dashboards.findings import Findings
from scale_tests.benches.dashboards.run import COMPARED, FAULTY, FULL, OVERLAYS, compared
from scale_tests.cluster.monitoring.cardinality import NODES, Load, NodeSeries

STATES = [(10.0, "pending"), (70.0, "firing"), (90.0, "inactive")]
SERIES = NodeSeries(fixed=40, channels={"overlay": 30, "gossip": 30})
GOOD = Findings(
    end=100.0,
    queries={"Cluster / Nodes: up": 4},
    rules=[{"name": alert.name, "health": "ok"} for alert in chart_alerts()],
    histories={"PartisanFixedOverlayPartitioned": STATES},
    firing=set(),
    load=Load(series=NODES * SERIES.total, memory_bytes=1 << 28, scraped_nodes=NODES),
    series={FAULTY: SERIES},
)


def missed(found: Findings) -> list[str]:
    return [check.name for check in found.checks(found.cells()) if not check.ok]


def test_a_run_of_which_everything_is_to_be_seen_passes() -> None:
    assert missed(GOOD) == []
    figures = [cell["figure"] for cell in GOOD.cells()]
    assert figures == ["queries", "alert", "series", "load"]


def test_a_query_without_data_and_one_with_too_much_are_named() -> None:
    for series in (0, 99):
        found = replace(GOOD, queries={"a": series, "b": 1})
        assert [check.value for check in found.checks([]) if not check.ok] == ["a"]


def test_an_alert_has_to_be_evaluated_to_fire_and_to_end() -> None:
    assert missed(replace(GOOD, rules=GOOD.rules[1:])) == [
        "alerts that Prometheus has not evaluated"
    ]
    for states in ([], STATES[:1], STATES[:2]):
        assert len(missed(replace(GOOD, histories={"PartisanNodesIsolated": states}))) == 1
    assert len(missed(replace(GOOD, firing={"PartisanNodesIsolated"}))) == 1


def test_more_series_than_allowed_are_reported() -> None:
    more = replace(GOOD.load, series=10 * GOOD.load.series)
    assert len(missed(replace(GOOD, load=more))) == 1


def test_the_clusters_of_the_comparison_have_names_of_their_own() -> None:
    bodies = [compared(overlay, nodes) for overlay in OVERLAYS for nodes in FULL.sizes]
    names = {body["metadata"]["name"] for body in bodies}
    assert len(names) == len(bodies) == 8
    assert all(re.fullmatch(COMPARED, name) for name in names)
    assert not re.fullmatch(COMPARED, FAULTY)
