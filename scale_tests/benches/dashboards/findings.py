"""Prometheus' series of a staging run, and whether they are complete."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from charts.tools.alerts import chart_alerts
from charts.tools.dashboards.files import committed
from scale_tests.benches.dashboards import run, watched
from scale_tests.benches.dashboards.pictures import Range
from scale_tests.cluster.monitoring.cardinality import NODES, Load, NodeSeries, bound, measure
from scale_tests.measure.checks import Check, at_most
from scale_tests.measure.page import Table

STATES = "pending, firing, inactive"
"""Of an alert whose cause comes and goes."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The results of a staging run; the report of its benchmark."""

    end: float
    """Of the time range, in seconds since 1970."""

    queries: Mapping[str, int]
    """How many series each query of the dashboards gives, by panel and expression."""

    rules: list[dict[str, Any]]
    histories: Mapping[str, list[tuple[float, str]]]
    """The states and their times, by alert of the chain of nodes."""

    firing: set[str]
    """The alerts that fire for the cluster whose nodes were killed, in the end."""

    load: Load
    series: Mapping[str, NodeSeries]
    """Of a node of each cluster, by the cluster's name."""

    def cells(self) -> list[dict[str, Any]]:
        """The raw figures."""
        cells: list[dict[str, Any]] = [{"figure": "queries", "series": dict(self.queries)}]
        for alert, changes in self.histories.items():
            cells.append({"figure": "alert", "alert": alert, "changes": changes})
        for name, series in self.series.items():
            own = asdict(series) | {"total": series.total}
            cells.append({"figure": "series", "cluster": name, **own})
        return [*cells, {"figure": "load", "nodes": NODES, **asdict(self.load)}]

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets of a run."""
        silent = [query for query, series in self.queries.items() if series == 0]
        crowded = [query for query, series in self.queries.items() if series > watched.MOST_SERIES]
        wanted = {alert.name for alert in chart_alerts()}
        healthy = {rule["name"] for rule in self.rules if rule["health"] == "ok"}
        found = [
            _none("queries of the dashboards without data", silent),
            _none(f"queries with more than {watched.MOST_SERIES} series", crowded),
            _none("alerts that Prometheus has not evaluated", sorted(wanted - healthy)),
            _none("alerts that fire for the cluster that healed", sorted(self.firing)),
        ]
        for alert, changes in self.histories.items():
            states = ", ".join(state for _, state in changes)
            name = f"states of {alert} while the chain was partitioned"
            found.append(Check(name=name, value=states, bar=STATES, ok=states == STATES))
        for cluster, series in self.series.items():
            channels = len(series.channels)
            name = f"series of a node of {cluster}, {channels} channels"
            found.append(at_most(name, series.total, bound(channels)))
        channels = len(self.series[run.FAULTY].channels)
        most = Check(
            name=f"series of {NODES} nodes in a Prometheus, {channels} channels",
            value=self.load.series,
            bar=f"<= {NODES * bound(channels)}",
            ok=self.load.scraped_nodes * bound(channels) >= self.load.series > 0,
        )
        return [*found, most]

    def tables(self, _cells: Sequence[Any]) -> dict[str, Table]:
        """Series of a node of each cluster."""
        rows = [(name, f"{series.total}") for name, series in self.series.items()]
        return {"Series of a node": Table(head=("cluster", "series"), rows=rows)}


def ranges(stage: run.Stage, end: float) -> Callable[[str], Range]:
    """The range that each dashboard shows, by its title, of an ended run. Raises ApiError."""
    created = stage.subject(run.FAULTY).json()["metadata"]["creationTimestamp"]
    began = datetime.fromisoformat(created).timestamp()
    whole = Range(
        prometheus=stage.prometheus,
        namespace=run.NAMESPACE,
        cluster=".+",
        start=stage.started,
        end=end,
    )
    by_title = {
        "Partisan / Scalability": replace(whole, cluster=run.COMPARED, end=stage.compared),
        "Partisan / Cluster": replace(whole, cluster=run.FAULTY, start=began),
    }
    return lambda title: by_title.get(title, whole)


def findings(stage: run.Stage) -> Findings:
    """Asks Prometheus. Raises ApiError, StalledError, ExpectedError."""
    end, asked = time.time(), stage.prometheus
    shown = ranges(stage, end)
    chain = watched.labels_of(stage.subject(run.CHAIN, run.CHAIN_NAMESPACE))
    return Findings(
        end=end,
        queries=watched.answered(committed().values(), lambda panel: shown(panel.dashboard)),
        rules=watched.evaluated_rules(asked),
        histories={
            alert: watched.history(asked, alert, chain, start=stage.started, end=end)
            for alert in run.CHAIN_ALERTS
        },
        firing=watched.firing(asked, watched.labels_of(stage.subject(run.FAULTY))),
        load=measure(stage.page),
        series=stage.series,
    )


def _none(name: str, found: list[str]) -> Check:
    return Check(name=name, value="; ".join(found) or "none", bar="none", ok=not found)
