"""The kinds of panels: each is a function from a `Definition` to Grafana's panel.

No panel has a line for each node, which is unreadable at 1,024 nodes: differences between nodes
are quantiles or a heatmap, computed by Prometheus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A panel of the YAML. Each kind reads the fields that its function's docstring names."""

    title: str
    about: str
    unit: str = "short"
    """Grafana's name of the unit."""

    width: str = "third"
    query: str = ""
    queries: Mapping[str, str] = field(default_factory=dict)
    """By legend; for `against` by the name of the axis."""

    quantiles: str = ""
    """A gauge of every node, drawn as its quantiles."""

    gauge: str = ""
    """A gauge of every node, counted in the buckets `bounds` of a heatmap."""

    bounds: Sequence[int] = ()
    by: str = ""
    """The numeric label on the x axis of a bar chart."""

    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Title, unit and query by the query's name."""

    wrong_from: float | None = None
    """Threshold from which a number is red."""


def number(definition: Definition) -> stat.Panel:
    """One figure: `query`."""
    steps = [Threshold(color="green")]
    if definition.wrong_from is not None:
        steps.append(Threshold(color="red", value=definition.wrong_from))
    return (
        _framed(stat.Panel(), definition, WIDTHS["quarter"], SMALL)
        .graph_mode(BigValueGraphMode.AREA)
        .thresholds(dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .with_target(_query(definition.query, definition.title))
    )


def lines(definition: Definition) -> timeseries.Panel:
    """Lines over time: `queries`, or the quantiles of `quantiles`."""
    legend = (
        common.VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
    )
    panel = (
        _framed(timeseries.Panel(), definition, WIDTHS[definition.width])
        .line_width(1)
        .fill_opacity(5)
        .show_points(VisibilityMode.NEVER)
        .axis_soft_min(0)
        .legend(legend)
    )
    queries = definition.queries or {
        name: f"quantile({share:g}, {definition.quantiles})" for name, share in QUANTILES.items()
    }
    for name, expression in queries.items():
        panel.with_target(_query(expression, name))
    return panel


def heat(definition: Definition) -> heatmap.Panel:
    """A distribution over time: a histogram's `query`, or the nodes by the value of `gauge`."""
    expression, gauge = definition.query, definition.gauge
    if gauge:
        counts = {f"{bound}": f"sum({gauge} <= bool {bound})" for bound in definition.bounds}
        counts["+Inf"] = f"count({gauge})"
        expression = "\n  or ".join(
            f'label_replace({count}, "le", "{bound}", "", "")' for bound, count in counts.items()
        )
    return (
        _framed(heatmap.Panel(), definition)
        .calculate(False)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges"))
        .y_axis(heatmap.YAxisConfig().unit(definition.unit))
        .cell_gap(1)
        .with_target(_query(expression, "{{le}}").format(PromQueryFormat.HEATMAP))
    )


def bars(definition: Definition) -> barchart.Panel:
    """A bar chart of `query`, by the values of the numeric label `by`, in their order."""
    by = definition.by
    conversion = {"conversions": [{"targetField": by, "destinationType": "number"}]}
    return (
        _framed(barchart.Panel(), definition)
        .x_field(by)
        .with_target(_instant(definition.query, "A"))
        .with_transformation(_hide("Time"))
        .with_transformation(DataTransformerConfig(id_val="convertFieldType", options=conversion))
        .with_transformation(_sort(by))
    )


def against(definition: Definition) -> xychart.Panel:
    """One point for each cluster in both `queries`: the first one is x, the second one y.

    The points of an overlay share a colour, a name in the legend, and a line.
    """
    across = f"Value #{next(iter(definition.queries))}"
    panel = (
        _framed(xychart.Panel(), definition)
        .mapping(SeriesMapping.AUTO)
        .show(XYShowMode.POINTS_AND_LINES)
        .axis_soft_min(0)
    )
    for name, expression in definition.queries.items():
        panel.with_target(_instant(expression, name))
    by_overlay = {"fields": ["overlay"], "keepFields": True}
    return (
        panel.with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_hide("Time"))
        .with_transformation(_sort(across))
        .with_transformation(DataTransformerConfig(id_val="partitionByValues", options=by_overlay))
        .override_by_name(across, _column("nodes", "short"))
    )


def rows(definition: Definition) -> table.Panel:
    """A table with one line for each series of `columns`."""
    panel = (
        _framed(table.Panel(), definition, WIDTHS["full"])
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_hide("Time"))
    )
    for name, column in definition.columns.items():
        panel.with_target(_instant(column["query"], name)).override_by_name(
            f"Value #{name}", _column(column["title"], column["unit"])
        )
    return panel


KINDS: Mapping[str, Callable[[Definition], Any]] = {
    "number": number,
    "lines": lines,
    "heat": heat,
    "bars": bars,
    "against": against,
    "rows": rows,
}
"""The kinds by their names in the YAML."""


def _framed(
    panel: Panel, definition: Definition, width: int = WIDTHS["third"], height: int = HEIGHT
) -> Panel:
    """Set the properties of every kind on a panel."""
    panel.title(definition.title).description(definition.about).unit(definition.unit)
    panel.datasource(DATASOURCE).span(width).height(height)
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
