"""Properties of every dashboard."""

import re

import pytest

from charts.tools.dashboards.__main__ import main
from charts.tools.dashboards.boards import NAMES, build
from charts.tools.dashboards.files import Panel, as_json, committed, metrics, panels, resolved

PANELS = [panel for dashboard in committed().values() for panel in panels(dashboard)]
UNITS = {"Bps", "bytes", "cps", "mps", "ops", "percentunit", "reqps", "s", "short"}
"""The units in use, by the names that Grafana has for them."""


def identifier(panel: Panel) -> str:
    return f"{panel.dashboard} / {panel.title}"


def test_the_committed_files_are_up_to_date() -> None:
    assert main(["--check"]) == 0


def test_the_dashboards_are_reproducible() -> None:
    for name in NAMES:
        assert as_json(build(name)) == as_json(build(name))


def test_every_dashboard_chooses_its_data_source() -> None:
    for dashboard in committed().values():
        variables = [variable["name"] for variable in dashboard["templating"]["list"]]
        assert variables[0] == "datasource"
        assert dashboard["uid"].startswith("partisan-")
        assert dashboard["description"]


def test_the_cluster_is_chosen_by_namespace_name_and_channel() -> None:
    variables = [v["name"] for v in committed()["cluster"]["templating"]["list"]]
    assert variables == ["datasource", "namespace", "cluster", "channel"]


@pytest.mark.parametrize("panel", PANELS, ids=identifier)
def test_a_panel_has_title_description_unit_and_queries(panel: Panel) -> None:
    assert panel.title
    assert panel.description.endswith(".")
    assert panel.unit in UNITS
    assert panel.queries


@pytest.mark.parametrize("panel", PANELS, ids=identifier)
def test_a_rate_is_over_the_interval_that_grafana_chooses(panel: Panel) -> None:
    for query in panel.queries:
        windows = set(re.findall(r"\[([^]]+)\]", query.expression))
        assert windows <= {"$__rate_interval", "$__range"}
        assert not re.search(r"\b(i?rate)\([^[]*\[\$__range", query.expression)


@pytest.mark.parametrize("panel", PANELS, ids=identifier)
def test_no_panel_draws_a_line_for_each_node(panel: Panel) -> None:
    for query in panel.queries:
        assert re.match(
            r"(sum|avg|max|min|count|quantile|count_values|histogram_quantile|label_replace)\b",
            query.expression,
        )
        outermost = query.expression.partition("(")[2]
        assert not re.match(r"(pod|instance)\b", outermost)
        assert not re.search(r"\{\{(pod|instance)\}\}", query.legend)


def test_titles_are_not_used_twice_in_a_row_of_panels() -> None:
    for name, dashboard in committed().items():
        row, seen = "", set()
        for item in dashboard["panels"]:
            row = item["title"] if item["type"] == "row" else row
            assert (row, item["title"]) not in seen, name
            seen.add((row, item["title"]))


def test_panels_against_the_size_distinguish_overlays() -> None:
    drawn = [item for item in committed()["scalability"]["panels"] if item["type"] == "xychart"]
    assert len(drawn) == 5
    for item in drawn:
        parted = [t for t in item["transformations"] if t["id"] == "partitionByValues"]
        assert [t["options"]["fields"] for t in parted] == [["overlay"]]


def test_a_column_of_a_table_has_its_own_title_and_unit() -> None:
    (table,) = [panel for panel in PANELS if panel.type == "table"]
    assert [(query.title, query.unit) for query in table.queries][:2] == [
        ("Nodes", "short"),
        ("Formation", "s"),
    ]


def test_variables_are_replaced_and_an_unknown_one_is_named() -> None:
    assert resolved('up{a="$a"}[$__range]', {"a": "x", "__range": "5m"}) == 'up{a="x"}[5m]'
    with pytest.raises(KeyError, match="b"):
        resolved("$b", {})


def test_metrics_of_an_expression() -> None:
    text = (
        'max by (partisan_cluster) (up{partisan_cluster="a"}) / on (partisan_cluster) '
        "partisan_operator_clusters + sum(rate(lasp_sync_bytes_total[5m]))"
    )
    assert metrics(text) == {"up", "partisan_operator_clusters", "lasp_sync_bytes_total"}
