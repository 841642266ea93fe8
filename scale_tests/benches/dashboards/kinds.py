"""The drawing of each type of panel."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from charts.tools.dashboards.files import Panel, Query
from scale_tests.cluster.kube import Json
from scale_tests.host.units import size
from scale_tests.measure.pictures import BLUE, CYCLE

STEP = 5.0
"""Seconds between the points of a line."""

TICKS = 9
"""Bounds written next to a heatmap, at most."""

LEGEND_WIDTH = 90
"""Characters that fit below a panel of a third of the width."""

LINES_NAMED = 12
"""A legend with more lines than this is left out."""


def _time_series(axes: Axes, panel: Panel, answers: Sequence[list[Json]]) -> None:
    named = 0
    for query, series in zip(panel.queries, answers, strict=True):
        for item in series:
            times, values = _points(item)
            axes.plot(
                times,
                values,
                linewidth=1,
                color=CYCLE[named % len(CYCLE)],
                linestyle=("-", "--", ":")[named // len(CYCLE) % 3],
                label=_legend(query, item["metric"]),
            )
            named += 1
    _finish_x(axes)
    _finish_y(axes, panel)
    if 0 < named <= LINES_NAMED:
        _legend_below(axes)


def _heatmap(axes: Axes, panel: Panel, answers: Sequence[list[Json]]) -> None:
    """The difference of each bucket to the one below: buckets are cumulative."""
    (series,) = answers
    columns: dict[float, dict[float, float]] = {}
    for item in series:
        for when, text in item["values"]:
            columns.setdefault(when, {})[float(item["metric"]["le"])] = float(text)
    times = sorted(columns)
    bounds = sorted({bound for column in columns.values() for bound in column})
    rows = {
        bound: [columns[t].get(bound, 0.0) - columns[t].get(below, 0.0) for t in times]
        for below, bound in pairwise([-math.inf, *bounds])
    }
    bounds = _filled(rows)
    cells = [rows[bound] for bound in bounds]
    axes.imshow(
        cells,
        aspect="auto",
        origin="lower",
        cmap="Oranges",
        interpolation="nearest",
        extent=(times[0], times[-1], -0.5, len(bounds) - 0.5),
    )
    in_unit = _writer(panel.unit)
    shown = range(0, len(bounds), math.ceil(len(bounds) / TICKS))
    names = ["more" if math.isinf(bounds[row]) else f"≤ {in_unit(bounds[row])}" for row in shown]
    axes.set_yticks(shown, names)
    axes.grid(visible=False)
    _finish_x(axes)


def _filled(rows: Mapping[float, Sequence[float]]) -> list[float]:
    """The bounds of the buckets that hold something, those between them, and one on each side."""
    bounds = sorted(rows)
    filled = [place for place, bound in enumerate(bounds) if any(n > 0 for n in rows[bound])]
    return bounds[max(0, filled[0] - 1) : filled[-1] + 2] if filled else bounds


def _bars(axes: Axes, panel: Panel, answers: Sequence[list[Json]]) -> None:
    (series,) = answers
    (label,) = {name for item in series for name in item["metric"]} or {""}
    counted = sorted((float(item["metric"][label]), float(item["value"][1])) for item in series)
    axes.bar([x for x, _ in counted], [y for _, y in counted], color=BLUE)
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _finish_y(axes, panel)


def _number(axes: Axes, panel: Panel, answers: Sequence[list[Json]]) -> None:
    last = [float(item["values"][-1][1]) for series in answers for item in series]
    write(axes, "  ".join(_writer(panel.unit)(value) for value in last), BLUE)


def write(axes: Axes, text: str, color: str) -> None:
    """Writes one text in the middle of a panel."""
    axes.text(
        0.5, 0.5, text, ha="center", va="center", fontsize=20, color=color, transform=axes.transAxes
    )
    axes.set_axis_off()


def _scatter(axes: Axes, panel: Panel, answers: Sequence[list[Json]]) -> None:
    across, up = ({_key(item): float(item["value"][1]) for item in series} for series in answers)
    points: dict[str, list[tuple[float, float]]] = {}
    for key in across.keys() & up.keys():
        points.setdefault(dict(key)["overlay"], []).append((across[key], up[key]))
    for index, (overlay, found) in enumerate(sorted(points.items())):
        nodes, values = zip(*sorted(found), strict=True)
        color = CYCLE[index % len(CYCLE)]
        axes.plot(nodes, values, marker="o", markersize=4, linewidth=1, color=color, label=overlay)
    axes.set_xlabel(panel.queries[0].title)
    axes.set_xlim(left=0)
    _finish_y(axes, panel)
    _legend_below(axes, drop=-0.2)


def _table(axes: Axes, panel: Panel, answers: Sequence[list[Json]]) -> None:
    columns = [{_key(item): float(item["value"][1]) for item in series} for series in answers]
    writers = [_writer(query.unit or panel.unit) for query in panel.queries]
    keys = sorted(
        {key for column in columns for key in column},
        key=lambda key: (dict(key)["overlay"], columns[0].get(key, 0.0), key),
    )
    cells = [
        [dict(key)["partisan_cluster"], dict(key)["overlay"]]
        + [
            in_unit(column[key]) if key in column else ""
            for in_unit, column in zip(writers, columns, strict=True)
        ]
        for key in keys
    ]
    axes.set_axis_off()
    heads = ["Cluster", "Overlay", *(query.title or query.name for query in panel.queries)]
    made = axes.table(cellText=cells, colLabels=heads, loc="upper center", edges="horizontal")
    made.auto_set_font_size(False)
    made.set_fontsize(8)


KINDS: dict[str, Callable[[Axes, Panel, Sequence[list[Json]]], None]] = {
    "timeseries": _time_series,
    "heatmap": _heatmap,
    "barchart": _bars,
    "stat": _number,
    "xychart": _scatter,
    "table": _table,
}
"""How each type of panel is drawn."""


def _points(item: Json) -> tuple[list[float], list[float]]:
    """Times and values; where samples are missing there is a hole, and no line across it."""
    times: list[float] = []
    values: list[float] = []
    for when, text in item["values"]:
        if times and when - times[-1] > 1.5 * STEP:
            times.append(times[-1] + STEP)
            values.append(math.nan)
        times.append(when)
        values.append(float(text))
    return times, values


def _legend_below(axes: Axes, drop: float = -0.1) -> None:
    """Names the lines where Grafana does, in as many columns as there is room for."""
    _, labels = axes.get_legend_handles_labels()
    columns = max(1, LEGEND_WIDTH // (max(map(len, labels)) + 4))
    axes.legend(loc="upper left", bbox_to_anchor=(0, drop), ncols=columns, fontsize=6.5)


def _legend(query: Query, labels: Mapping[str, str]) -> str:
    text = query.legend
    for name, value in labels.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    return text


def _key(item: Json) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(item["metric"].items()))


def _finish_x(axes: Axes) -> None:
    """Times of the day, UTC."""
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: time.strftime("%H:%M:%S", time.gmtime(value)))
    )


def _finish_y(axes: Axes, panel: Panel) -> None:
    in_unit = _writer(panel.unit)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: in_unit(value)))
    # Room for a line at the top; a series that is always 0 stays at the bottom of the axis.
    most = axes.dataLim.ymax
    axes.set_ylim(0, 1.1 * most if math.isfinite(most) and most > 0 else 1)


def _writer(unit: str) -> Callable[[float], str]:
    """A number of that unit, approximately as Grafana writes it."""
    return _WRITERS.get(unit, lambda value: f"{value:,.3g}/s")


_WRITERS: dict[str, Callable[[float], str]] = {
    "bytes": size,
    "Bps": lambda value: f"{size(value)}/s",
    "percentunit": lambda value: f"{100 * value:.3g} %",
    "s": lambda value: f"{1000 * value:.3g} ms" if value < 1 else f"{value:.3g} s",
    "short": lambda value: f"{value:,.4g}",
}
