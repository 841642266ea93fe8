"""The drawing of each type of panel."""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from charts.tools.dashboards.files import Panel, Query
from scale_tests.cluster.kube import Json
from scale_tests.host.units import size
from scale_tests.measure.drawing import BLUE, CYCLE

STEP = 5.0
"""Seconds between the points of a line."""

TICKS = 9
"""Bounds written next to a heatmap, at most."""

LINES_NAMED = 12
"""A legend with more lines than this is left out."""

LINES: Any = {"axes.prop_cycle": cycler(linestyle=("-", "--", ":")) * cycler(color=CYCLE)}
"""matplotlib's parameter by which lines differ."""


def _time_series(axes: Axes, panel: Panel, answers: Sequence[list[Json]]) -> None:
    for query, series in zip(panel.queries, answers, strict=True):
        for item in series:
            times, values = np.array(item["values"], dtype=float).T
            # Where samples are missing there is a hole, and no line across it.
            holes = np.flatnonzero(np.diff(times) > 1.5 * STEP) + 1
            times, values = (np.insert(each, holes, np.nan) for each in (times, values))
            axes.plot(times, values, linewidth=1, label=_legend(query, item["metric"]))
    _finish_x(axes)
    _finish_y(axes, panel)
    if 0 < len(axes.lines) <= LINES_NAMED:
        axes.legend(fontsize=6.5)


def _heatmap(axes: Axes, panel: Panel, answers: Sequence[list[Json]]) -> None:
    """The difference of each bucket to the one below: buckets are cumulative."""
    (series,) = answers
    found = {
        (float(item["metric"]["le"]), when): float(text)
        for item in series
        for when, text in item["values"]
    }
    bounds, times = sorted({le for le, _ in found}), sorted({when for _, when in found})
    below = np.array([[found.get((le, when), 0.0) for when in times] for le in bounds])
    counts = np.diff(below, axis=0, prepend=0)
    # The buckets that hold something, those between them, and one on each side.
    filled = np.flatnonzero((counts > 0).any(axis=1))
    if filled.size:
        shown = slice(max(0, filled[0] - 1), filled[-1] + 2)
        counts, bounds = counts[shown], bounds[shown]
    axes.imshow(
        counts,
        aspect="auto",
        origin="lower",
        cmap="Oranges",
        interpolation="nearest",
        extent=(times[0], times[-1], -0.5, len(bounds) - 0.5),
    )
    named = range(0, len(bounds), math.ceil(len(bounds) / TICKS))
    in_unit = _writer(panel.unit)
    names = ["more" if math.isinf(bounds[row]) else f"≤ {in_unit(bounds[row])}" for row in named]
    axes.set_yticks(named, names)
    axes.grid(visible=False)
    _finish_x(axes)


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
    for overlay, found in sorted(points.items()):
        axes.plot(
            *zip(*sorted(found), strict=True), marker="o", markersize=4, linewidth=1, label=overlay
        )
    axes.set_xlabel(panel.queries[0].title)
    axes.set_xlim(left=0)
    _finish_y(axes, panel)
    axes.legend(fontsize=6.5)


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


def _legend(query: Query, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name[1], name[0]), query.legend)


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
