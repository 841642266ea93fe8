"""Draws the dashboards from a Prometheus, without Grafana: each whole, and its main panels."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from charts.tools.dashboards.files import Panel, Query, panels, resolved
from scale_tests.benches.dashboards.kinds import KINDS, LINES, STEP, write
from scale_tests.cluster.kube import Json
from scale_tests.cluster.monitoring.prometheus import Prometheus
from scale_tests.host.documents import data_of
from scale_tests.measure.drawing import GREY, STYLE, save

WIDTH, COLUMNS = 15.0, 24
"""Inches and columns of a picture."""

MAIN_WIDTH = 9.0
"""Inches of a picture of main panels, whose texts are large enough for a page."""

MAIN: Mapping[str, Sequence[str]] = data_of(__file__)
"""The titles of the main panels of each dashboard."""

UNIT = 0.28
"""Inches for each unit of a panel's height."""

LEFT, RIGHT, TOP, BOTTOM = 0.7, 0.1, 0.25, 0.4
"""Inches around what is drawn of a panel, for its title and its axes."""

WINDOW = "30s"
"""Six scrapes of 5 s: Grafana's `$__rate_interval` at most steps."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """The settings of a dashboard's time picker and variables, which show clusters of a Prometheus.

    Names may be regular expressions.
    """

    prometheus: Prometheus
    namespace: str
    cluster: str
    start: float
    """Seconds since 1970, as is `end`."""

    end: float

    def expression(self, query: Query) -> str:
        """The expression of a query as Grafana would send it, for all channels."""
        return resolved(
            query.expression,
            {
                "namespace": self.namespace,
                "cluster": self.cluster,
                "channel": ".+",
                "__rate_interval": WINDOW,
                "__range": f"{self.end - self.start:.0f}s",
            },
        )

    def ask(self, query: Query) -> list[Json]:
        """Prometheus' answer to a query of a panel. Raises ApiError."""
        expression = self.expression(query)
        if query.instant:
            return self.prometheus.query(expression, at=self.end)
        return self.prometheus.query_range(expression, start=self.start, end=self.end, step=STEP)


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
    titles: Sequence[str] = (),
) -> list[Path]:
    """Draws one dashboard, its panels where Grafana has them, and returns the files.

    With `titles`, draws these panels alone, two next to each other. The files are named after the
    dashboard's uid unless `file` says otherwise.
    """
    shown = list(panels(dashboard))
    width = WIDTH
    if titles:
        shown, width = _arranged(shown, titles), MAIN_WIDTH
    # One unit more, for the title.
    height = UNIT * (1 + max(panel.line + panel.height for panel in shown))
    with mpl.rc_context({**STYLE, **LINES, "font.size": 7.5}):
        figure = Figure(figsize=(width, height))
        figure.text(0.005, 1 - 0.2 / height, f"{dashboard['title']}  {subtitle}", fontsize=12)
        row = ""
        for panel in shown:
            if panel.row != row:
                row = panel.row
                figure.text(0.005, 1 - UNIT * (panel.line + 0.5) / height, row, fontsize=10)
            axes = figure.add_axes(_place(panel, width, height), axisbelow=True)
            axes.set_title(panel.title, loc="left", fontweight="bold")
            answers = [ask(query) for query in panel.queries]
            if any(numbers(series) for series in answers):
                KINDS[panel.type](axes, panel, answers)
            else:
                write(axes, "no data", GREY)
        return save(figure, directory, file or dashboard["uid"])


def _arranged(shown: Sequence[Panel], titles: Sequence[str]) -> list[Panel]:
    """The panels with these titles, in this order, of one size and without headings.

    Of several with one title, the last one in the dashboard is taken.
    """
    found = {panel.title: panel for panel in shown}
    half, high = COLUMNS // 2, 8
    return [
        replace(
            found[title],
            row="",
            column=half * (index % 2),
            line=high * (index // 2),
            width=half,
            height=high,
        )
        for index, title in enumerate(titles)
    ]


def _place(panel: Panel, width: float, height: float) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of a panel's axes, in shares of a picture of this size."""
    column = width / COLUMNS
    bottom = height - UNIT * (1 + panel.line + panel.height)
    return (
        (panel.column * column + LEFT) / width,
        (bottom + BOTTOM) / height,
        (panel.width * column - LEFT - RIGHT) / width,
        (panel.height * UNIT - TOP - BOTTOM) / height,
    )
