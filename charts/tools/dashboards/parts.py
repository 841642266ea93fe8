"""What the dashboards are made of: variables, queries, and one function for each kind of panel.

A panel never draws a line for each node: at 1,024 nodes nobody could read it, nor would the
browser bear it. What differs between nodes is drawn as quantiles or as a heatmap, both computed by
Prometheus.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grafana_foundation_sdk.builders import (
    barchart,
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    table,
    timeseries,
    xychart,
)
from grafana_foundation_sdk.models.common import (
    BigValueGraphMode,
    LegendDisplayMode,
    LegendPlacement,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    VariableOption,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat
from grafana_foundation_sdk.models.xychart import SeriesMapping, XYShowMode

TAG = "partisan"
DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")

QUARTER, THIRD, HALF, FULL = 6, 8, 12, 24
"""Widths of panels, in columns of the grid."""

HEIGHT = 8
SMALL = 4

QUANTILES = {"least": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "most": 1.0}
"""How the differences between nodes are drawn."""


def base(title: str, uid: str, description: str) -> dashboard.Dashboard:
    """A dashboard without panels, with the data source to choose and links to the others."""
    others = (
        dashboard.DashboardLink("Partisan")
        .type(DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )
    source = (
        dashboard.DatasourceVariable("datasource")
        .label("Data source")
        .description("The Prometheus that scrapes the nodes and the operator.")
        .type("prometheus")
    )
    return (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags([TAG])
        .link(others)
        .readonly()
        .timezone("browser")
        .time("now-30m", "now")
        .refresh("30s")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(source)
    )


def variable(
    name: str, label: str, query: str, *, several: bool = False
) -> dashboard.QueryVariable:
    """A variable that Prometheus knows the values of; with `several`, any number of them."""
    made = (
        dashboard.QueryVariable(name)
        .label(label)
        .description(f"{label} to show.")
        .datasource(DATASOURCE)
        .query({"query": query, "refId": name})
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.NATURAL_ASC)
        .multi(several)
        .include_all(several)
    )
    return (
        made.all_value(".+").current(VariableOption(selected=True, text="All", value="$__all"))
        if several
        else made
    )


def query(expression: str, legend: str = "") -> prometheus.Dataquery:
    """A query over the time range."""
    return (
        prometheus.Dataquery().datasource(DATASOURCE).expr(expression).legend_format(legend).range()
    )


def instant(expression: str, name: str) -> prometheus.Dataquery:
    """A query at the end of the time range, as a table; `name` tells its column."""
    return (
        prometheus.Dataquery()
        .datasource(DATASOURCE)
        .expr(expression)
        .ref_id(name)
        .format(PromQueryFormat.TABLE)
        .instant()
    )


def quantiles(vector: str) -> list[prometheus.Dataquery]:
    """Queries of how a value differs between nodes."""
    return [query(f"quantile({share:g}, {vector})", name) for name, share in QUANTILES.items()]


def buckets(vector: str, bounds: Sequence[int]) -> prometheus.Dataquery:
    """A heatmap's buckets of a gauge: how many nodes are at or below each bound."""
    parts = [f'label_replace(sum({vector} <= bool {b}), "le", "{b}", "", "")' for b in bounds]
    parts.append(f'label_replace(count({vector}), "le", "+Inf", "", "")')
    return query("\n  or ".join(parts), "{{le}}").format(PromQueryFormat.HEATMAP)


def number(
    title: str, description: str, unit: str, expression: str, *, wrong_from: float | None = None
) -> stat.Panel:
    """One figure; red from `wrong_from` on."""
    steps = [Threshold(color="green")]
    if wrong_from is not None:
        steps.append(Threshold(color="red", value=wrong_from))
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit(unit)
        .span(QUARTER)
        .height(SMALL)
        .graph_mode(BigValueGraphMode.AREA)
        .thresholds(dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .with_target(query(expression, title))
    )


def lines(
    title: str,
    description: str,
    unit: str,
    queries: Iterable[prometheus.Dataquery],
    *,
    width: int = THIRD,
) -> timeseries.Panel:
    """Lines over time."""
    legend = (
        common.VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
    )
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit(unit)
        .span(width)
        .height(HEIGHT)
        .line_width(1)
        .fill_opacity(5)
        .show_points(VisibilityMode.NEVER)
        .axis_soft_min(0)
        .legend(legend)
    )
    for one in queries:
        panel.with_target(one)
    return panel


def heat(
    title: str, description: str, unit: str, buckets_query: prometheus.Dataquery
) -> heatmap.Panel:
    """A distribution over time, of cumulative buckets; `unit` is that of their bounds."""
    return (
        heatmap.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit(unit)
        .span(THIRD)
        .height(HEIGHT)
        .calculate(False)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges"))
        .y_axis(heatmap.YAxisConfig().unit(unit))
        .cell_gap(1)
        .with_target(buckets_query)
    )


def bars(
    title: str, description: str, unit: str, counted: prometheus.Dataquery, *, by: str
) -> barchart.Panel:
    """Bars, one for each value of the numeric label `by`, in its order."""
    return (
        barchart.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit(unit)
        .span(THIRD)
        .height(HEIGHT)
        .x_field(by)
        .with_target(counted)
        .with_transformation(_hide("Time"))
        .with_transformation(
            DataTransformerConfig(
                id_val="convertFieldType",
                options={"conversions": [{"targetField": by, "destinationType": "number"}]},
            )
        )
        .with_transformation(_sort(by))
    )


def against(
    title: str, description: str, unit: str, x: prometheus.Dataquery, y: prometheus.Dataquery
) -> xychart.Panel:
    """One point for each cluster that both queries have: the first gives x, the second y.

    The points of an overlay have one colour, one name in the legend, and a line through them.
    """
    across = f"Value #{x.build().ref_id}"
    panel = (
        xychart.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit(unit)
        .span(THIRD)
        .height(HEIGHT)
        .mapping(SeriesMapping.AUTO)
        .show(XYShowMode.POINTS_AND_LINES)
        .axis_soft_min(0)
        .with_target(x)
        .with_target(y)
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_hide("Time"))
        .with_transformation(_sort(across))
        .with_transformation(
            DataTransformerConfig(
                id_val="partitionByValues", options={"fields": ["overlay"], "keepFields": True}
            )
        )
    )
    return panel.override_by_name(
        across,
        [DynamicConfigValue(id_val="displayName", value="nodes"), _unit("short")],
    )


def rows(
    title: str,
    description: str,
    columns: Sequence[tuple[str, str, prometheus.Dataquery]],
) -> table.Panel:
    """A table with one line for each series; columns are (title, unit, query)."""
    panel = (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit("short")
        .span(FULL)
        .height(HEIGHT)
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_hide("Time"))
    )
    for name, unit, one in columns:
        column = f"Value #{one.build().ref_id}"
        panel.with_target(one).override_by_name(
            column, [DynamicConfigValue(id_val="displayName", value=name), _unit(unit)]
        )
    return panel


def _hide(field: str) -> DataTransformerConfig:
    return DataTransformerConfig(id_val="organize", options={"excludeByName": {field: True}})


def _sort(field: str) -> DataTransformerConfig:
    return DataTransformerConfig(id_val="sortBy", options={"sort": [{"field": field}]})


def _unit(unit: str) -> DynamicConfigValue:
    return DynamicConfigValue(id_val="unit", value=unit)
