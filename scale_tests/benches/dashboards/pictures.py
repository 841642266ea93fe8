"""Draws the dashboards from a Prometheus, without Grafana: one picture for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from charts.tools.dashboards.files import Panel, Query, panels, resolved
from scale_tests.benches.dashboards.kinds import KINDS, STEP, write
from scale_tests.cluster.kube import Json
from scale_tests.cluster.monitoring.prometheus import Prometheus
from scale_tests.measure.pictures import GREY, STYLE, save

COLUMNS = 24
"""Of Grafana's grid."""

UNIT = 0.28
"""Inches for each unit of a panel's height."""

HEADING = 1
"""Units that the heading of a row is high."""

WINDOW = "30s"
"""Six scrapes of 5 s: Grafana's `$__rate_interval` at most steps."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """The settings of a dashboard's time picker and variables."""

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
    """Prometheus' answer to a query of a panel. Raises ApiError."""
    expression = shown.expression(query)
    if query.instant:
        return prometheus.query(expression, at=shown.end)
    return prometheus.query_range(expression, start=shown.start, end=shown.end, step=STEP)


def asking(prometheus: Prometheus, shown: Range) -> Callable[[Query], list[Json]]:
    """The function with which `draw` asks: `answer` of one Prometheus and range."""
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
                    KINDS[panel.type](axes, panel, answers)
                else:
                    write(axes, "no data", GREY)
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
