"""The committed dashboards: written as JSON, and read back as panels and queries."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder

from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT

DIRECTORY = ROOT / CHART / "dashboards"
"""Their directory in the chart."""


_VARIABLE = re.compile(r"\$(\w+)")
_METRIC = re.compile(
    r"\b(?!partisan_cluster\b)((?:partisan|lasp|adcounter|erlang|process)_\w+|up)\b(?=[{[\s),]|$)"
)


@dataclass(frozen=True, kw_only=True)
class Query:
    """One query of a panel."""

    expression: str
    """PromQL with Grafana's variables."""

    name: str
    """Name of its column in a table."""

    title: str = ""
    unit: str = ""
    """Title and unit of that column; empty for its name and the panel's unit."""

    legend: str
    instant: bool


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel."""

    dashboard: str
    row: str
    """The heading of its row."""

    title: str
    description: str
    type: str
    unit: str
    column: int
    line: int
    width: int
    height: int
    """Place and size in Grafana's grid, which has 24 columns."""

    queries: tuple[Query, ...]


def resolved(expression: str, variables: Mapping[str, str]) -> str:
    """The expression with Grafana's variables replaced. Raises KeyError if one has no value."""
    return _VARIABLE.sub(lambda found: variables[found[1]], expression)


def metrics(expression: str) -> set[str]:
    """The names of the metrics in an expression."""
    return set(_METRIC.findall(expression))


def as_json(dashboard: Dashboard) -> str:
    """The text of a dashboard's file."""
    return json.dumps(dashboard.build(), cls=JSONEncoder, indent=1, sort_keys=True) + "\n"


def committed() -> dict[str, dict[str, Any]]:
    """The committed dashboards by the name of their file."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(DIRECTORY.glob("*.json"))}


def panels(dashboard: dict[str, Any]) -> Iterator[Panel]:
    """All panels of a dashboard in their order."""
    row = ""
    for item in dashboard["panels"]:
        if item["type"] == "row":
            row = item["title"]
        else:
            yield Panel(
                dashboard=dashboard["title"],
                row=row,
                title=item.get("title", ""),
                description=item.get("description", ""),
                type=item["type"],
                unit=item["fieldConfig"]["defaults"].get("unit", ""),
                column=item["gridPos"]["x"],
                line=item["gridPos"]["y"],
                width=item["gridPos"]["w"],
                height=item["gridPos"]["h"],
                queries=tuple(_query(target, item["fieldConfig"]) for target in item["targets"]),
            )


def _query(target: Mapping[str, Any], fields: Mapping[str, Any]) -> Query:
    """A query of a panel, with the panel's overrides of its column."""
    name = target.get("refId", "")
    column = {
        entry["id"]: entry["value"]
        for override in fields.get("overrides", [])
        if override["matcher"]["options"] == f"Value #{name}"
        for entry in override["properties"]
    }
    return Query(
        expression=target["expr"],
        name=name,
        title=column.get("displayName", ""),
        unit=column.get("unit", ""),
        legend=target.get("legendFormat", ""),
        instant=target.get("instant", False),
    )
