"""The queries of the dashboards, all parsed by promtool."""

import tempfile

import yaml

from charts.tools.alerts import promtool
from charts.tools.dashboards.files import committed, panels, resolved
from scale_tests.host.commands import capture

VARIABLES = {
    "namespace": "default",
    "cluster": "ads",
    "channel": ".+",
    "__rate_interval": "1m",
    "__range": "30m",
}
"""A value for each of Grafana's variables."""


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
