"""The kinds of panels: each is a function from the fields of the YAML to Grafana's panel.

Those of every kind are the parameters of `_framed`.

No panel has a line for each node, which is unreadable at 1,024 nodes: differences between nodes
are quantiles or a heatmap, computed by Prometheus.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

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
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat
from grafana_foundation_sdk.models.xychart import SeriesMapping, XYShowMode

DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")

WIDTHS = {"quarter": 6, "third": 8, "half": 12, "full": 24}
"""Widths of panels, in columns of Grafana's grid."""

HEIGHT = 8
SMALL = 4

QUANTILES = {"least": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "most": 1.0}
"""Lines for the differences between nodes."""

Panel = TypeVar("Panel", bound=Any)
"""A builder of any kind of panel. They share methods but no base class."""


def number(*, title: str, query: str, wrong_from: float | None = None, **frame: str) -> stat.Panel:
    """One figure, red from a threshold on."""
    steps = [Threshold(color="green")]
    if wrong_from is not None:
        steps.append(Threshold(color="red", value=wrong_from))
    return (
        _framed(stat.Panel(), SMALL, title=title, width="quarter", **frame)
        .graph_mode(BigValueGraphMode.AREA)
        .thresholds(dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .with_target(_query(query, title))
    )


def lines(
    *, queries: Mapping[str, str] | None = None, quantiles: str = "", **frame: str
) -> timeseries.Panel:
    """Lines over time: queries by legend, or a gauge of every node as its quantiles."""
    legend = (
        common.VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
    )
    panel = (
        _framed(timeseries.Panel(), **frame)
        .line_width(1)
        .fill_opacity(5)
        .show_points(VisibilityMode.NEVER)
        .axis_soft_min(0)
        .legend(legend)
    )
    queries = queries or {
        name: f"quantile({share:g}, {quantiles})" for name, share in QUANTILES.items()
    }
    for name, expression in queries.items():
        panel.with_target(_query(expression, name))
    return panel


def heat(
    *,
    query: str = "",
    gauge: str = "",
    bounds: Sequence[int] = (),
    unit: str = "short",
    **frame: str,
) -> heatmap.Panel:
    """A distribution over time: a histogram's query, or a gauge of every node in buckets."""
    if gauge:
        counts = {f"{bound}": f"sum({gauge} <= bool {bound})" for bound in bounds}
        counts["+Inf"] = f"count({gauge})"
        query = "\n  or ".join(
            f'label_replace({count}, "le", "{bound}", "", "")' for bound, count in counts.items()
        )
    return (
        _framed(heatmap.Panel(), unit=unit, **frame)
        .calculate(False)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges"))
        .y_axis(heatmap.YAxisConfig().unit(unit))
        .cell_gap(1)
        .with_target(_query(query, "{{le}}").format(PromQueryFormat.HEATMAP))
    )


def bars(*, query: str, by: str, **frame: str) -> barchart.Panel:
    """A bar chart of a query, by the values of the numeric label `by`, in their order."""
    conversion = {"conversions": [{"targetField": by, "destinationType": "number"}]}
    return (
        _framed(barchart.Panel(), **frame)
        .x_field(by)
        .with_target(_instant(query, "A"))
        .with_transformation(_hide("Time"))
        .with_transformation(DataTransformerConfig(id_val="convertFieldType", options=conversion))
        .with_transformation(_sort(by))
    )


def against(*, queries: Mapping[str, str], **frame: str) -> xychart.Panel:
    """One point for each cluster in both queries: the first one is x, the second one y.

    They are given by the names of the axes. The points of an overlay share a colour, a name in the
    legend, and a line.
    """
    across = f"Value #{next(iter(queries))}"
    panel = (
        _framed(xychart.Panel(), **frame)
        .mapping(SeriesMapping.AUTO)
        .show(XYShowMode.POINTS_AND_LINES)
        .axis_soft_min(0)
    )
    for name, expression in queries.items():
        panel.with_target(_instant(expression, name))
    by_overlay = {"fields": ["overlay"], "keepFields": True}
    return (
        panel.with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_hide("Time"))
        .with_transformation(_sort(across))
        .with_transformation(DataTransformerConfig(id_val="partitionByValues", options=by_overlay))
        .override_by_name(across, _column("nodes", "short"))
    )


def rows(*, columns: Mapping[str, Mapping[str, str]], **frame: str) -> table.Panel:
    """A table with one line for each series; a column has a title, a unit and a query."""
    panel = (
        _framed(table.Panel(), width="full", **frame)
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_hide("Time"))
    )
    for name, column in columns.items():
        panel.with_target(_instant(column["query"], name)).override_by_name(
            f"Value #{name}", _column(column["title"], column["unit"])
        )
    return panel


KINDS: Mapping[str, Callable[..., Any]] = {
    "number": number,
    "lines": lines,
    "heat": heat,
    "bars": bars,
    "against": against,
    "rows": rows,
}
"""The kinds by their names in the YAML."""


def _framed(
    panel: Panel,
    height: int = HEIGHT,
    /,
    *,
    title: str,
    about: str,
    unit: str = "short",
    width: str = "third",
) -> Panel:
    """Set the properties of every kind on a panel; `unit` is Grafana's name of it."""
    panel.title(title).description(about).unit(unit)
    panel.datasource(DATASOURCE).span(WIDTHS[width]).height(height)
    return panel


def _query(expression: str, legend: str) -> prometheus.Dataquery:
    """A query over the time range."""
    made = prometheus.Dataquery().datasource(DATASOURCE).expr(expression)
    return made.legend_format(legend).range()


def _instant(expression: str, name: str) -> prometheus.Dataquery:
    """A query at the end of the time range, as a table with the column `name`."""
    made = prometheus.Dataquery().datasource(DATASOURCE).expr(expression)
    return made.ref_id(name).format(PromQueryFormat.TABLE).instant()


def _hide(name: str) -> DataTransformerConfig:
    return DataTransformerConfig(id_val="organize", options={"excludeByName": {name: True}})


def _sort(name: str) -> DataTransformerConfig:
    return DataTransformerConfig(id_val="sortBy", options={"sort": [{"field": name}]})


def _column(title: str, unit: str) -> list[DynamicConfigValue]:
    properties = {"displayName": title, "unit": unit}
    return [DynamicConfigValue(id_val=key, value=value) for key, value in properties.items()]
