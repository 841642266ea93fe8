"""Dashboards and alerts in a Prometheus: whether queries answer, and the history of alerts."""

import math
from collections.abc import Callable, Iterable
from typing import Any

from charts.tools.dashboards.files import Panel, panels
from scale_tests.benches.dashboards.pictures import Range, numbers
from scale_tests.cluster.monitoring.prometheus import Prometheus
from scale_tests.cluster.wait import wait_for

MOST_SERIES = 24
"""The most lines, or rows of a heatmap, that a panel may have and still be read."""


def answered(
    dashboards: Iterable[dict[str, Any]], shown: Callable[[Panel], Range]
) -> dict[str, int]:
    """How many series with numbers each query gives, by panel and expression. Raises ApiError."""
    return {
        f"{panel.dashboard} / {panel.title}: {query.expression}": sum(
            bool(numbers([series])) for series in shown(panel).ask(query)
        )
        for dashboard in dashboards
        for panel in panels(dashboard)
        for query in panel.queries
    }


def evaluated_rules(prometheus: Prometheus) -> list[dict[str, Any]]:
    """All rules, once each of them has been evaluated. Raises ApiError, StalledError."""
    return wait_for(
        "evaluation of all rules",
        prometheus.rules,
        lambda rules: all(rule["health"] != "unknown" for rule in rules),
    )


def firing(prometheus: Prometheus, labels: str) -> set[str]:
    """The names of the alerts that fire now, of those with these labels. Raises ApiError."""
    series = prometheus.query(f'ALERTS{{alertstate="firing", {labels}}}')
    return {item["metric"]["alertname"] for item in series}


def history(
    prometheus: Prometheus, alert: str, labels: str, *, start: float, end: float, step: float = 5.0
) -> list[tuple[float, str]]:
    """When an alert became `pending`, `firing` and `inactive` again.

    Times are in seconds since 1970, and `step` seconds long in doubt. Raises ApiError.
    """
    selected = f'ALERTS{{alertname="{alert}", {labels}}}'
    seen = sorted(
        (float(when), str(series["metric"]["alertstate"]))
        for series in prometheus.query_range(selected, start=start, end=end, step=step)
        for when, _ in series["values"]
    )
    changes: list[tuple[float, str]] = []
    last = -math.inf
    for when, state in seen:
        if changes and when - last > 1.5 * step:
            changes.append((last + step, "inactive"))
        if not changes or changes[-1][1] != state:
            changes.append((when, state))
        last = when
    over = bool(seen) and not prometheus.query(selected)
    return [*changes, (last + step, "inactive")] if over else changes
