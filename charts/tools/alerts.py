"""The alerts of the chart and the queries of its dashboards: promtool parses them.

Each alert fires in a test.
"""

import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from charts.tools.dashboards.files import committed, panels, resolved
from images.builder.prometheus import TOOLSET
from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT, ExpectedError, capture, stream

ALERTS = ROOT / CHART / "files" / "alerts.yaml"
TESTS = ROOT / CHART / "tests" / "alerts"

VARIABLES = {
    "namespace": "default",
    "cluster": "ads",
    "channel": ".+",
    "__rate_interval": "1m",
    "__range": "30m",
}
"""A value for each of Grafana's variables."""

_TESTED = re.compile(r'alertname="(\w+)"')


@dataclass(frozen=True, kw_only=True)
class Alert:
    """One alert."""

    name: str
    severity: str
    pending: str
    """How long its condition must hold, as a Prometheus duration."""

    expression: str
    description: str


def chart_alerts() -> list[Alert]:
    """The alerts of the chart, in their order."""
    return [
        Alert(
            name=rule["alert"],
            severity=rule["labels"]["severity"],
            pending=rule["for"],
            expression=rule["expr"],
            description=" ".join(rule["annotations"]["description"].split()),
        )
        for group in yaml.safe_load(ALERTS.read_text())["groups"]
        for rule in group["rules"]
    ]


def check_tested(names: Iterable[str], tests: Iterable[Mapping[str, Any]]) -> None:
    """Check that each alert fires in one test and is quiet in another. Raises ExpectedError."""
    fires: set[str] = set()
    quiet: set[str] = set()
    for file in tests:
        for test in file["tests"]:
            for expected in test["promql_expr_test"]:
                seen = fires if expected.get("exp_samples") else quiet
                seen.update(_TESTED.findall(expected["expr"]))
    for name in names:
        if name not in fires & quiet:
            missing = "fires" if name not in fires else "is quiet"
            raise ExpectedError(f"no test in {TESTS.name}/ in which {name} {missing}")


def check_alerts() -> None:
    """Runs promtool on alerts and tests. Raises ExpectedError."""
    files = sorted(TESTS.glob("*.yaml"))
    check_tested(
        [alert.name for alert in chart_alerts()],
        [yaml.safe_load(file.read_text()) for file in files],
    )
    program = promtool()
    stream([program, "check", "rules", str(ALERTS)])
    stream([program, "test", "rules", *map(str, files)])


def check_queries() -> int:
    """Parses all queries with promtool; returns their number. Raises ExpectedError."""
    rules = [
        {
            "record": f"panel:query:{number}",
            "expr": resolved(query.expression, VARIABLES),
            "labels": {"panel": f"{panel.dashboard} / {panel.title}"},
        }
        for dashboard in committed().values()
        for panel in panels(dashboard)
        for number, query in enumerate(panel.queries)
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}, file)
        file.flush()
        capture([promtool(), "check", "rules", file.name])
    return len(rules)


def promtool() -> str:
    """The path of promtool: the system's, or else built. Raises ExpectedError."""
    return shutil.which("promtool") or str(TOOLSET.ensure_built() / "promtool")
