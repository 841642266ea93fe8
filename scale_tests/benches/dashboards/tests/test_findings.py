"""What a staging run is held to, by made-up findings."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import cast

from charts.tools.alerts import chart_alerts
from scale_tests.benches.dashboards.findings import Findings, bars, cells
from scale_tests.benches.dashboards.plan import COMPARED, FULL, compared
from scale_tests.benches.dashboards.run import FAULTY, Stage
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.monitoring.cardinality import NODES, Load, NodeSeries
from scale_tests.cluster.monitoring.prometheus import Prometheus

LIFE = [(10.0, "pending"), (70.0, "firing"), (90.0, "inactive")]
SERIES = NodeSeries(fixed=40, channels={"overlay": 30, "gossip": 30})
GOOD = Findings(
    end=100.0,
    queries={"Cluster / Nodes: up": 4},
    rules=[{"name": alert.name, "health": "ok"} for alert in chart_alerts()],
    histories={"PartisanFixedOverlayPartitioned": LIFE},
    firing=set(),
    load=Load(series=NODES * SERIES.total, memory_bytes=1 << 28, scraped_nodes=NODES),
)


def stage() -> Stage:
    environment = Environment(
        kubeconfig=Path("none"), local=True, operator_image="", node_image="", prometheus_image=""
    )
    # Nothing is asked of a cluster here.
    made = Stage(
        environment=environment,
        cluster=cast(Cluster, None),
        prometheus=cast(Prometheus, None),
        say=print,
    )
    made.series = {FAULTY: SERIES}
    return made


def missed(found: Findings) -> list[str]:
    return [bar.name for bar in bars(found, stage()) if not bar.ok]


def test_a_run_of_which_everything_is_to_be_seen_passes() -> None:
    assert missed(GOOD) == []
    figures = [cell["figure"] for cell in cells(GOOD, stage())]
    assert figures == ["queries", "alert", "series", "load"]


def test_a_query_without_data_and_one_with_too_much_are_named() -> None:
    (bar,) = [b for b in bars(replace(GOOD, queries={"a": 0, "b": 1}), stage()) if not b.ok]
    assert bar.value == "a"
    (bar,) = [b for b in bars(replace(GOOD, queries={"a": 99, "b": 1}), stage()) if not b.ok]
    assert bar.value == "a"


def test_an_alert_has_to_be_evaluated_to_fire_and_to_end() -> None:
    assert missed(replace(GOOD, rules=GOOD.rules[1:])) == [
        "alerts that Prometheus has not evaluated"
    ]
    for life in ([], LIFE[:1], LIFE[:2]):
        assert len(missed(replace(GOOD, histories={"PartisanNodesIsolated": life}))) == 1
    assert len(missed(replace(GOOD, firing={"PartisanNodesIsolated"}))) == 1


def test_more_series_than_allowed_are_told() -> None:
    more = replace(GOOD.load, series=10 * GOOD.load.series)
    assert len(missed(replace(GOOD, load=more))) == 1


def test_the_clusters_of_the_comparison_have_names_of_their_own() -> None:
    bodies = [compared(overlay, nodes) for overlay, nodes in FULL.clusters]
    names = {body["metadata"]["name"] for body in bodies}
    assert len(names) == len(bodies) == 8
    assert all(re.fullmatch(COMPARED, name) for name in names)
    assert not re.fullmatch(COMPARED, FAULTY)
