"""The pictures of the dashboards, of made-up answers."""

from pathlib import Path
from typing import cast

import pytest

from charts.tools.dashboards.files import Query, committed, panels
from scale_tests.benches.dashboards.pictures import MAIN, Range, draw, numbers
from scale_tests.cluster.kube import Json
from scale_tests.cluster.monitoring.prometheus import Prometheus

CLUSTER = {"namespace": "default", "partisan_cluster": "ads", "overlay": "HyParView"}


def made_up(query: Query) -> list[Json]:
    if query.expression.startswith("count_values"):
        return [{"metric": {"degree": str(n)}, "value": [9.0, str(n)]} for n in (10, 2, 3)]
    if query.instant:
        return [{"metric": CLUSTER, "value": [9.0, "32"]}]
    values = [[float(second), str(second)] for second in range(0, 60, 5)]
    if query.legend == "{{le}}":
        return [{"metric": {"le": bound}, "values": values} for bound in ("+Inf", "1", "0.5")]
    return [{"metric": CLUSTER, "values": values}]


@pytest.mark.parametrize(
    ("name", "empty"),
    [(name, False) for name in committed()] + [("scalability", True), ("operator", True)],
)
def test_a_dashboard_is_drawn_with_and_without_data(name: str, empty: bool, tmp_path: Path) -> None:
    def ask(query: Query) -> list[Json]:
        return [] if empty else made_up(query)

    files = draw(committed()[name], ask, tmp_path, "default/ads")
    assert {file.suffix for file in files} == {".svg", ".png"}
    assert all(file.stat().st_size > 10_000 for file in files)


@pytest.mark.parametrize("name", committed())
def test_the_main_panels_are_drawn_alone(name: str, tmp_path: Path) -> None:
    asked: list[Query] = []

    def ask(query: Query) -> list[Json]:
        asked.append(query)
        return made_up(query)

    draw(committed()[name], ask, tmp_path, "default/ads", titles=MAIN[name])
    queries = {panel.title: panel.queries for panel in panels(committed()[name])}
    assert asked == [query for title in MAIN[name] for query in queries[title]]


def test_infinite_values_are_no_data() -> None:
    series: list[Json] = [
        {"metric": {}, "values": [[1.0, "NaN"], [2.0, "+Inf"], [3.0, "4"]]},
        {"metric": {}, "value": [1.0, "5"]},
    ]
    assert numbers(series) == [4.0, 5.0]
    assert numbers([]) == []


def test_grafanas_variables_are_replaced_by_the_range() -> None:
    asked = cast(Prometheus, None)
    shown = Range(prometheus=asked, namespace="default", cluster="ads", start=100.0, end=400.0)
    query = Query(
        name="A",
        legend="",
        instant=False,
        expression='x{namespace="$namespace", channel=~"$channel"}[$__rate_interval][$__range]',
    )
    expected = 'x{namespace="default", channel=~".+"}[30s][300s]'
    assert shown.expression(query) == expected
