"""Writes the tables of the chart's README from values.yaml and files/alerts.yaml.

`python -m charts.tools.readme` writes; the checks of the chart compare.
"""

import json
import sys
from collections.abc import Sequence

from charts.tools.alerts import Alert, chart_alerts
from charts.tools.values import Value, described_values
from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT, ExpectedError, relative
from scale_tests.host.documents import with_part
from scale_tests.measure.page import row

README = ROOT / CHART / "README.md"
_DEFAULT_WIDTH = 40


def values_table(values: Sequence[Value]) -> str:
    """The table of all values."""
    rows = [row((f"`{v.path}`", _default(v), v.description)) for v in values]
    return "\n".join(["| value | default | meaning |", "|---|---|---|", *rows])


def alerts_table(alerts: Sequence[Alert]) -> str:
    """The table of all alerts."""
    rows = [row((f"`{a.name}`", a.severity, a.pending, a.description)) for a in alerts]
    return "\n".join(["| alert | severity | after | what it means |", "|---|---|---|---|", *rows])


def generated(text: str) -> str:
    """The README with generated tables. Raises ExpectedError."""
    schema = json.loads(README.with_name("values.schema.json").read_text())
    values = described_values(README.with_name("values.yaml").read_text(), schema)
    try:
        text = with_part(text, "values", values_table(values))
        return with_part(text, "alerts", alerts_table(chart_alerts()))
    except ValueError as error:
        raise ExpectedError(f"{relative(README)}: {error}") from error


def check_readme() -> None:
    """Compares the README with its sources. Raises ExpectedError when it differs."""
    if README.read_text() != generated(README.read_text()):
        raise ExpectedError(f"{relative(README)} is out of date: make readme")


def _default(value: Value) -> str:
    text = json.dumps(value.default)
    return f"`{text}`" if len(text) <= _DEFAULT_WIDTH else "see values.yaml"


def main() -> int:
    """Writes the tables; returns the exit status."""
    try:
        README.write_text(generated(README.read_text()))
    except ExpectedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
