"""Dashboards, built from NAME.yaml next to this module.

The `words` of a file abbreviate parts of queries and of later words. Each panel has its title under
its kind, and as fields the parameters of the kind's function in `panels`.
"""

import re
from pathlib import Path

import yaml
from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from charts.tools.dashboards.panels import DATASOURCE, KINDS
from scale_tests.host.templates import changed

NAMES = ("cluster", "scalability", "operator")
TAG = "partisan"


def build(name: str) -> dashboard.Dashboard:
    """The dashboard of this name. Raises ValueError or TypeError for an unknown kind or field."""
    definition = yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text())
    words = definition["words"]

    def expand(text: str) -> str:
        # A word may contain earlier ones.
        for word in reversed(words):
            text = re.sub(rf"\b{word}\b", words[word], text)
        return text

    written = changed(definition, expand)
    board = _base(written["title"], written["uid"], written["description"])
    for variable in written["variables"]:
        board.with_variable(_variable(**variable))
    for row in written["rows"]:
        board.with_row(dashboard.Row(row["row"]))
        for panel in row["panels"]:
            (kind,) = panel.keys() & KINDS.keys()
            board.with_panel(KINDS[kind](title=panel.pop(kind), **panel))
    return board


def _base(title: str, uid: str, description: str) -> dashboard.Dashboard:
    """A dashboard without panels, with a choice of data source and links to the others."""
    others = (
        dashboard.DashboardLink("Partisan")
        .type(DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )
    source = (
        dashboard.DatasourceVariable("datasource")
        .label("Data source")
        .description("The Prometheus that scrapes the nodes and the operator.")
        .type("prometheus")
    )
    return (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags([TAG])
        .link(others)
        .readonly()
        .timezone("browser")
        .time("now-30m", "now")
        .refresh("30s")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(source)
    )


def _variable(name: str, label: str, query: str, several: bool = False) -> dashboard.QueryVariable:
    """A variable with values from Prometheus; `several` allows more than one."""
    made = (
        dashboard.QueryVariable(name)
        .label(label)
        .description(f"{label} to show.")
        .datasource(DATASOURCE)
        .query({"query": query, "refId": name})
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.NATURAL_ASC)
        .multi(several)
        .include_all(several)
    )
    if several:
        made.all_value(".+").current(VariableOption(selected=True, text="All", value="$__all"))
    return made
