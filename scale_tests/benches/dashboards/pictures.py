"""Draws the dashboards from a Prometheus, without Grafana.

`python -m scale_tests.benches.dashboards.pictures NAMESPACE CLUSTER [DIRECTORY]` asks the
Prometheus of the demo for every query of every panel, as Grafana would, and writes one picture for
each dashboard.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from charts.tools.dashboards.files import Panel, Query, committed, panels, resolved
from scale_tests.cluster import environment as environments
from scale_tests.cluster.kube import Cluster, Json
from scale_tests.cluster.monitoring.prometheus import Prometheus
from scale_tests.host.units import size
from scale_tests.measure.document import RESULTS
from scale_tests.measure.pictures import BLUE, CYCLE, GREY, STYLE, save

COLUMNS = 24
"""Of Grafana's grid."""

UNIT = 0.28
"""Inches for each unit of a panel's height."""

HEADING = 1
"""Units that the heading of a row is high."""

TICKS = 9
"""At most so many bounds are written beside a heatmap."""

STEP = 5.0
WINDOW = "30s"
"""Six scrapes: what Grafana takes for `$__rate_interval` at most steps, for a scrape each 5 s."""

LEGEND_WIDTH = 90
"""Characters that fit below a panel of a third of the width."""

LINES_NAMED = 12
"""A legend with more lines than this is left out."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """What the time picker and the variables of a dashboard say."""

    start: float
    """Seconds since 1970, as is `end`."""

    end: float
    variables: Mapping[str, str] = field(default_factory=dict)

    def expression(self, query: Query) -> str:
        """The expression of a query as Grafana would send it."""
        times = {"__rate_interval": WINDOW, "__range": f"{self.end - self.start:.0f}s"}
        return resolved(query.expression, {**self.variables, **times})


def range_of(namespace: str, cluster: str, start: float, end: float) -> Range:
    """The range that shows one cluster, with all its channels."""
    chosen = {"namespace": namespace, "cluster": cluster, "channel": ".+"}
    return Range(start=start, end=end, variables=chosen)


def answer(prometheus: Prometheus, query: Query, shown: Range) -> list[Json]:
    """What Prometheus answers to a query of a panel. Raises ApiError."""
    expression = shown.expression(query)
    if query.instant:
        return prometheus.query(expression, at=shown.end)
    return prometheus.query_range(expression, start=shown.start, end=shown.end, step=STEP)


def asking(prometheus: Prometheus, shown: Range) -> Callable[[Query], list[Json]]:
    """What `draw` asks with: `answer` of one Prometheus and range."""
    return lambda query: answer(prometheus, query, shown)


def numbers(series: Sequence[Json]) -> list[float]:
    """All numbers of an answer that are finite: what can be drawn of it."""
    samples = [s for item in series for s in item.get("values", [item.get("value")])]
    return [float(text) for _, text in samples if math.isfinite(float(text))]


def draw(
    dashboard: dict[str, Any],
    ask: Callable[[Query], list[Json]],
    directory: Path,
    subtitle: str,
    *,
    file: str = "",
) -> list[Path]:
    """Draws one dashboard, its panels laid out as in Grafana, and returns the files.

    They are named after the dashboard's uid unless `file` says otherwise.
    """
    lines = _lines(list(panels(dashboard)))
    with mpl.rc_context({**STYLE, "font.size": 7.5}):
        # A line that begins a row has the row's heading above it.
        begins = [not row or lines[row - 1][0].row != line[0].row for row, line in enumerate(lines)]
        heights = [
            max(panel.height for panel in line) + HEADING * first
            for line, first in zip(lines, begins, strict=True)
        ]
        figure = Figure(figsize=(15, UNIT * sum(heights)), layout="constrained")
        figure.suptitle(f"{dashboard['title']}  {subtitle}", x=0.005, ha="left", fontsize=12)
        grid = figure.subfigures(len(lines), 1, height_ratios=heights, squeeze=False)[:, 0]
        for line, first, part in zip(lines, begins, grid, strict=True):
            if first:
                part.suptitle(line[0].row, x=0.005, ha="left", fontsize=10, color=GREY)
            # The last line of a row may be short of panels: their widths stay as they are.
            rest = COLUMNS - sum(panel.width for panel in line)
            widths = [panel.width for panel in line] + ([rest] if rest else [])
            cells = part.add_gridspec(1, len(widths), width_ratios=widths)
            for column, panel in enumerate(line):
                axes = part.add_subplot(cells[0, column])
                axes.set_title(panel.title, loc="left", fontweight="bold")
                axes.set_axisbelow(True)
                answers = [ask(query) for query in panel.queries]
                if any(numbers(series) for series in answers):
                    _KINDS[panel.type](axes, panel, answers)
                else:
                    _write(axes, "no data", GREY)
        return save(figure, directory, file or dashboard["uid"])


def _lines(shown: Sequence[Panel]) -> list[list[Panel]]:
    """The panels in lines of at most the grid's width, each heading with lines of its own."""
    lines: list[list[Panel]] = []
    for panel in shown:
        line = lines[-1] if lines else []
        full = sum(p.width for p in line) + panel.width > COLUMNS
        if not line or full or line[0].row != panel.row:
            lines.append([panel])
        else:
            line.append(panel)
    return lines


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
    """The buckets are cumulative: what is drawn is the difference to the one below."""
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
    write = _writer(panel.unit)
    shown = range(0, len(bounds), math.ceil(len(bounds) / TICKS))
    names = ["more" if math.isinf(bounds[row]) else f"≤ {write(bounds[row])}" for row in shown]
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
    _write(axes, "  ".join(_writer(panel.unit)(value) for value in last), BLUE)


def _write(axes: Axes, text: str, color: str) -> None:
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
            write(column[key]) if key in column else ""
            for write, column in zip(writers, columns, strict=True)
        ]
        for key in keys
    ]
    axes.set_axis_off()
    heads = ["Cluster", "Overlay", *(query.title or query.name for query in panel.queries)]
    made = axes.table(cellText=cells, colLabels=heads, loc="upper center", edges="horizontal")
    made.auto_set_font_size(False)
    made.set_fontsize(8)


_KINDS: dict[str, Callable[[Axes, Panel, Sequence[list[Json]]], None]] = {
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
    write = _writer(panel.unit)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    # Room for a line at the top; what is 0 all the time is at the bottom of an axis all the same.
    most = axes.dataLim.ymax
    axes.set_ylim(0, 1.1 * most if math.isfinite(most) and most > 0 else 1)


def _writer(unit: str) -> Callable[[float], str]:
    """How Grafana writes a number of that unit, more or less."""
    match unit:
        case "bytes":
            return size
        case "Bps":
            return lambda value: f"{size(value)}/s"
        case "percentunit":
            return lambda value: f"{100 * value:.3g} %"
        case "s":
            return lambda value: f"{1000 * value:.3g} ms" if value < 1 else f"{value:.3g} s"
        case "short":
            return lambda value: f"{value:,.4g}"
        case _:
            return lambda value: f"{value:,.3g}/s"


def main(arguments: Sequence[str]) -> int:
    """Draws all dashboards; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m scale_tests.benches.dashboards.pictures", description=__doc__
    )
    parser.add_argument("namespace")
    parser.add_argument("cluster")
    parser.add_argument("directory", type=Path, nargs="?", default=RESULTS)
    parser.add_argument("--minutes", type=float, default=10.0, help="how far back (10)")
    options = parser.parse_args(arguments)
    environment = environments.existing()
    if environment is None:
        print("error: there is no cluster: make demo", file=sys.stderr)
        return 1
    prometheus = Prometheus(Cluster(environment.kubeconfig))
    end = time.time()
    shown = range_of(options.namespace, options.cluster, end - 60 * options.minutes, end)
    for dashboard in committed().values():
        title = f"{options.namespace}/{options.cluster}"
        for file in draw(dashboard, asking(prometheus, shown), options.directory, title):
            print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
